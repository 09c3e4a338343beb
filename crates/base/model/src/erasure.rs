//! The request to erase a seller, as a message of the topic `offers.erasures`.

use prost::Message as _;
use wire::offers::SellerErasure;

use crate::names;

pub fn write(seller: &str, asked_at: i64) -> Vec<u8> {
    SellerErasure { seller_id: seller.to_owned(), asked_at }.encode_to_vec()
}

/// Reads and checks it.
pub fn read(payload: &[u8]) -> Result<SellerErasure, String> {
    let word = SellerErasure::decode(payload).map_err(|error| error.to_string())?;
    names::check_seller(&word.seller_id).map_err(|error| error.to_string())?;
    if word.asked_at <= 0 {
        return Err(format!("an erasure of {} has no moment", word.seller_id));
    }
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_word_is_taken() {
        assert_eq!(read(&write("shop", 7)).unwrap(), SellerErasure { seller_id: "shop".into(), asked_at: 7 });
        for bad in [write("", 7), write("shop", 0), b"shop".to_vec(), Vec::new()] {
            assert!(read(&bad).is_err(), "{bad:?}");
        }
    }
}
