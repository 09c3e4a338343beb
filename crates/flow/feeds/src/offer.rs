/// One offer as the file has it, whatever the format: texts, not yet understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedOffer {
    pub id: String,
    pub title: String,
    pub description: String,
    /// The catalog's own id, where the format can say so.
    pub category_id: String,
    /// Names from the root, such as `Electronics / Phones`.
    pub category_path: Vec<String>,
    pub price: String,
    pub currency: String,
    pub condition: String,
    pub attributes: Vec<FeedAttribute>,
    pub images: Vec<String>,
    pub video: String,
    pub address: String,
    pub lat: String,
    pub lon: String,
    pub contact_name: String,
    pub phones: Vec<String>,
    pub email: String,
    pub url: String,
    pub vendor: String,
    pub barcode: String,
    /// With its unit, grams if there is none.
    pub weight: String,
    pub weight_unit: String,
    pub length: String,
    pub width: String,
    pub height: String,
    /// Of the three, millimetres if there is none.
    pub size_unit: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedAttribute {
    pub name: String,
    pub value: String,
    pub unit: String,
}
