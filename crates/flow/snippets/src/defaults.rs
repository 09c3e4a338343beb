//! The configuration that comes with Dvor, for those who name none.

pub(crate) const CONFIG: &str = include_str!("../../../../snippets/config.pb.txt");
pub(crate) const PREFIXES: &str = include_str!("../../../../snippets/key_prefixes.txt");
pub(crate) const FILES: &[(&str, &str)] =
    &[("offer_card.json", include_str!("../../../../snippets/offer_card.json"))];
