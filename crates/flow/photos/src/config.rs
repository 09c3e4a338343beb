use std::time::Duration;

/// How sizes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Jpeg,
    /// Without loss, so larger than JPEG for photographs and smaller for drawings.
    WebP,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// Largest file of a photo.
    pub max_bytes: u64,
    /// Most pixels of a photo.
    pub max_pixels: u64,
    /// Shortest side of a photo.
    pub min_side_pixels: u32,
    pub format: Format,
    /// Photos that are downloaded at the same time.
    pub downloads: usize,
    /// Images that are decoded at the same time; each takes up to 8 bytes per pixel.
    pub decoders: usize,
    pub idle_timeout: Duration,
    pub total_timeout: Duration,
    /// Whether anybody may see a photo as it came, without its metadata; else only services.
    pub public_originals: bool,
    /// Of one seller in an hour: uploads, and their bytes.
    pub uploads_per_hour: i64,
    pub upload_bytes_per_hour: i64,
    /// An upload that no offer has named for so long goes.
    pub keep_unused: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_bytes: 20 << 20,
            max_pixels: 50_000_000,
            min_side_pixels: 16,
            format: Format::Jpeg,
            downloads: 16,
            decoders: 2,
            idle_timeout: Duration::from_secs(15),
            total_timeout: Duration::from_secs(60),
            public_originals: false,
            uploads_per_hour: 1_000,
            upload_bytes_per_hour: 2 << 30,
            keep_unused: Duration::from_secs(30 * 86_400),
        }
    }
}
