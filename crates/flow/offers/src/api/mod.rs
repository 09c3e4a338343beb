//! The doors of the offers.

pub mod fsck;
pub mod seller;
