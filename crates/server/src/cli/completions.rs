use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "Example:\n  dvor completions bash > ~/.local/share/bash-completion/completions/dvor")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::Cli::command(), "dvor", &mut script);
        super::print(&String::from_utf8_lossy(&script))
    }
}
