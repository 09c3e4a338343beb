//! What a step did to an offer, in a sentence.

use super::Trace;

impl Trace {
    /// Why it came to this.
    pub fn why(&self) -> &'static str {
        match (self.step, self.outcome) {
            ("convert", "failed") => "a value cannot be used; the offer is owed and read again",
            ("convert", _) => "its fields are parameters now",
            ("first_filter", "forbidden") => "silver.forbidden_businesses names the business",
            ("first_filter", "no_services") => "it has no service, neither here nor in silver",
            ("second_filter", "services_removed") => {
                "services that are neither BLUE nor DBS leave as removals, for the SSKU is kept"
            }
            ("second_filter", "services_cut") => "services that are neither BLUE nor DBS are left out",
            ("second_filter", "unsupported") => "none of its services is BLUE or DBS",
            ("close_migration", "unsupported") => {
                "such offers are not kept, so a migration has nothing to wait for"
            }
            ("close_migration", _) => "silver has seen what moved",
            ("to_silver", "collapsed") => {
                "several messages of the batch had it; the newest of each part counts"
            }
            ("dbs_filter", "dbs_cut") => {
                "silver.dbs_mode takes no DBS services of this business, and the SSKU is not kept yet"
            }
            ("detect", "older") => "every part is older than what is stored",
            ("detect", "repeated") => "nothing of it is newer than what is stored",
            ("detect", "same_data") => "it is newer and says the same: its versions are saved, nothing else",
            ("detect", "no_services") => "merged with what is stored, it has no services",
            ("detect", "changed") => "it says something new: saved, and queued for gold and ERP",
            ("detect", "erased") => "its last service was erased: nothing of it stays",
            ("save", "failed") => "it cannot be written; it is owed and read again",
            _ => "it goes on to the next step",
        }
    }
}
