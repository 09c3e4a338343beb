use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// What those who run Dvor may choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A manual offer expires so long after it was published, activated or prolonged.
    pub lifetime: Duration,
    /// The same for an offer of a feed; zero: as long as the feed has it, it lives.
    pub feed_lifetime: Duration,
    /// Deleted, sold and expired offers leave for the archive after this.
    pub archive_after: Duration,
    /// How long the history of an offer is kept.
    pub events_kept: Duration,
    /// A feed may bring an offer back within this time.
    pub revive_within: Duration,
    /// Rows over which a counter is spread.
    pub counter_stripes: u32,
    /// Offers with photos stay inactive until the first one is there.
    pub wait_for_photo: bool,
    /// Most offers of one seller.
    pub max_offers: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lifetime: 180 * DAY,
            feed_lifetime: Duration::ZERO,
            archive_after: 90 * DAY,
            events_kept: 90 * DAY,
            revive_within: 30 * DAY,
            counter_stripes: 1,
            wait_for_photo: false,
            max_offers: 2_000_000,
        }
    }
}
