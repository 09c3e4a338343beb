//! Messages of the contract as JSON, as protobuf says it: enums by name, 64-bit numbers as text, fields as in `proto/`.

use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions,
};
use serde_json::Value;

pub struct Schema(DescriptorPool);

impl Schema {
    pub fn shipped() -> Self {
        Self(DescriptorPool::decode(wire::DESCRIPTORS).expect("the compiled schema can be read"))
    }

    fn message(&self, name: &str) -> MessageDescriptor {
        let name = format!("dvor.united.v1.{name}");
        self.0.get_message_by_name(&name).expect("callers name messages of the contract")
    }

    /// A message of this name, from its bytes.
    pub fn to_json(&self, name: &str, bytes: &[u8]) -> Result<Value, String> {
        let message = DynamicMessage::decode(self.message(name), bytes).map_err(|error| error.to_string())?;
        let options = SerializeOptions::new().use_proto_field_name(true);
        message
            .serialize_with_options(serde_json::value::Serializer, &options)
            .map_err(|error| error.to_string())
    }

    /// The bytes of a message of this name; a field that it does not have is refused.
    pub fn from_json(&self, name: &str, json: &[u8]) -> Result<Vec<u8>, String> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        let options = DeserializeOptions::new().deny_unknown_fields(true);
        let message = DynamicMessage::deserialize_with_options(self.message(name), &mut reader, &options)
            .map_err(|error| error.to_string())?;
        reader.end().map_err(|error| error.to_string())?;
        Ok(prost::Message::encode_to_vec(&message))
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use wire::united::{Colour, Offer, OfferMeta, UnitedOffer};

    use super::*;

    #[test]
    fn json_reads_back_what_it_writes() {
        let meta = OfferMeta { version: Some(1 << 60), rgb: Some(Colour::Dbs.into()), updated_at: None };
        let part = Offer { meta: Some(meta), ..Offer::default() };
        let offer = UnitedOffer { basic: None, service: [(3, part)].into() };
        let schema = Schema::shipped();
        let json = schema.to_json("UnitedOffer", &offer.encode_to_vec()).unwrap();
        assert_eq!(json["service"]["3"]["meta"]["rgb"], "DBS");
        assert_eq!(json["service"]["3"]["meta"]["version"], (1_i64 << 60).to_string());
        let bytes = schema.from_json("UnitedOffer", json.to_string().as_bytes()).unwrap();
        assert_eq!(UnitedOffer::decode(bytes.as_slice()).unwrap(), offer);
        for bad in [r#"{"basics": {}}"#, r#"{"basic": 1}"#, "{} {}", "{"] {
            assert!(schema.from_json("UnitedOffer", bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
