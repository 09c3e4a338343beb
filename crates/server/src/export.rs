//! What master data keeps of a seller's offers, for their export.

use async_trait::async_trait;
use offers::export::Keeper;
use serde_json::Value;
use silver::Silver;
use silver::export::ShopOffer;
use united::fill::shop_sku;
use united::shops::parse_follower;

/// United offers, silver and gold of the shops that a seller is mapped to, or was.
pub struct MasterData(pub Silver);

#[async_trait]
impl Keeper for MasterData {
    async fn kept(&self, followers: &[String], offers: &[model::Offer]) -> Result<Vec<Value>, String> {
        let mut asked = Vec::new();
        for (business, shop) in followers.iter().filter_map(|name| parse_follower(name)) {
            let of = |offer: &model::Offer| ShopOffer { business, shop, shop_sku: shop_sku(offer) };
            asked.extend(offers.iter().map(of));
        }
        self.0.export(asked).await.map_err(|error| error.to_string())
    }
}
