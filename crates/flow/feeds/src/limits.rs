/// How much a file may ask for. Every length that its writer chooses is bounded by one of these.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Of the file as it is.
    pub raw_bytes: u64,
    /// Of the text after unpacking.
    pub unpacked_bytes: u64,
    /// Unpacked to packed, looked at beyond `ratio_from_bytes`.
    pub unpack_ratio: u64,
    pub ratio_from_bytes: u64,
    /// Of one record; a longer one is an error of that record.
    pub record_bytes: usize,
    /// Of what stands outside of records: a tag, a comment, a header line.
    pub token_bytes: usize,
    /// Elements or values within each other.
    pub depth: usize,
    /// Attributes of one tag, columns of a table.
    pub attributes: usize,
    /// Categories that a YML file may declare, and the bytes of their ids and names together.
    pub categories: usize,
    pub category_bytes: usize,
    /// Of the id of a category; one with a longer id is not declared.
    pub category_id_bytes: usize,
    /// Values of one record; one with more is an error of that record. Each takes far more memory than its two bytes.
    pub record_values: usize,
    /// Text is taken in pieces of so many bytes, at least four. What is read does not depend on it; those who want to see
    /// that make it small.
    pub piece_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            raw_bytes: 8 << 30,
            unpacked_bytes: 20 << 30,
            unpack_ratio: 200,
            ratio_from_bytes: 64 << 20,
            record_bytes: 4 << 20,
            token_bytes: 1 << 20,
            depth: 64,
            attributes: 1_000,
            categories: 200_000,
            category_bytes: 16 << 20,
            category_id_bytes: 256,
            record_values: 100_000,
            piece_bytes: usize::MAX,
        }
    }
}
