//! Takes pictures of every page of the console over a running `dvor demo`: light, dark, and on a phone; and has them
//! looked at by axe-core, if its script is given.
//!
//! `console-pictures http://127.0.0.1:7080 FOLDER [axe.min.js]`

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use e2e::browser::Browser;

#[derive(Parser)]
struct Arguments {
    base: String,
    folder: PathBuf,
    axe: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { base, folder, axe } = Arguments::parse();
    std::fs::create_dir_all(&folder)?;
    let axe = axe.map(|path| std::fs::read_to_string(&path).with_context(|| path.display().to_string()));
    let axe = axe.transpose()?;
    let browser = Browser::open(&folder).await?;
    let mut bad = 0;
    for (name, path) in pages(&browser, &base).await? {
        for (look, width, scheme) in
            [("light", 1280, "light"), ("dark", 1280, "dark"), ("phone", 390, "light")]
        {
            browser.look(width, 900, scheme).await?;
            browser.go(&format!("{base}{path}")).await?;
            // Parts that stay fresh should have been fresh once.
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            browser.picture(&folder.join(format!("{name}-{look}.png"))).await?;
            let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            let overflow = browser.eval(overflow).await?.as_i64().unwrap_or_default();
            if overflow > 0 {
                println!("{name} {look}: wider than the screen by {overflow}");
                bad += 1;
            }
            if let Some(script) = &axe {
                bad += judge(&browser, script, &format!("{name} {look}")).await?;
            }
        }
    }
    for complaint in browser.complaints() {
        println!("complaint: {complaint}");
        bad += 1;
    }
    for address in browser
        .requests()
        .iter()
        .filter(|address| !address.starts_with(&base) && !address.starts_with("data:"))
    {
        println!("asked elsewhere: {address}");
        bad += 1;
    }
    anyhow::ensure!(bad == 0, "{bad} things to mend");
    Ok(())
}

/// Names and addresses; those of an offer and a load are found on the way.
async fn pages(browser: &Browser, base: &str) -> Result<Vec<(&'static str, String)>> {
    browser.go(&format!("{base}/console/sellers/north-tools/offers?preset=with_problems")).await?;
    let first = "document.querySelector('.offer a')?.getAttribute('href') ?? ''";
    let offer = browser.eval(first).await?.as_str().unwrap_or_default().to_owned();
    let tools = "/console/sellers/north-tools";
    Ok(vec![
        ("overview", "/console".to_owned()),
        ("sellers", "/console/sellers".to_owned()),
        ("seller", tools.to_owned()),
        ("feed", format!("{tools}/feeds/default")),
        ("load", format!("{tools}/feeds/default/loads/1?line=90")),
        ("held", "/console/sellers/lada-garden/feeds/seedlings/loads/2".to_owned()),
        ("failed", "/console/sellers/book-yard/feeds/broken/loads/1".to_owned()),
        ("cabinet", format!("{tools}/offers")),
        ("offer", offer),
        ("snippets", "/console/snippets?name=offer%2Fcard".to_owned()),
        ("topics", "/console/topics".to_owned()),
        ("topic", "/console/topics/offers.changes".to_owned()),
        ("cluster", "/console/cluster".to_owned()),
        ("missing", "/console/nowhere".to_owned()),
    ])
}

async fn judge(browser: &Browser, script: &str, name: &str) -> Result<usize> {
    browser.eval(&format!("{script}; true")).await?;
    let asked = "axe.run().then(found => found.violations.map(v => \
        [v.impact, v.id, v.nodes.length, v.nodes.map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).slice(0, 3)]))";
    let found = browser.eval(asked).await?;
    let mut serious = 0;
    for violation in found.as_array().into_iter().flatten() {
        println!("{name}: {violation}");
        serious += usize::from(violation[0] == "serious" || violation[0] == "critical");
    }
    Ok(serious)
}
