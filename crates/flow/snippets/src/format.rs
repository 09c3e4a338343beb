use std::fmt;

/// How a document is written. The numbers are kept with the documents.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    prost::Enumeration,
)]
#[serde(rename_all = "UPPERCASE")]
#[repr(i32)]
pub enum Format {
    Json = 0,
    Pb = 1,
    Text = 2,
    Binary = 3,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Json, Self::Pb, Self::Text, Self::Binary];

    /// As the configuration writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Pb => "PB",
            Self::Text => "TEXT",
            Self::Binary => "BINARY",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a `Content-Type` names: a short name or a media type, with or without parameters.
    pub fn of_content_type(text: &str) -> Option<Self> {
        let name = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "json" | "application/json" => Some(Self::Json),
            "pb" | "application/x-protobuf" | "application/protobuf" | "application/vnd.google.protobuf" => {
                Some(Self::Pb)
            }
            "text" | "text/plain" => Some(Self::Text),
            "binary" | "application/octet-stream" => Some(Self::Binary),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
