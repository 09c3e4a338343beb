//! Partitions and topic id. rdkafka has no safe call that tells the id, so this file talks to librdkafka itself.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::ptr;

use rdkafka::bindings as sys;
use rdkafka::types::RDKafkaRespErr;

use super::client::{CALL_LIMIT, Client};
use super::error::of_code;
use crate::backend::Description;
use crate::topics::unknown_topic;
use crate::{Error, Kind, Result};

type Topics = sys::rd_kafka_TopicCollection_t;
type Options = sys::rd_kafka_AdminOptions_t;

/// Asks the broker for the topic; blocks up to the limit of a call.
pub(super) fn describe(client: &Client, topic: &str) -> Result<Description> {
    let name = CString::new(topic).map_err(|_| unknown_topic(topic))?;
    let mut names = [name.as_ptr()];
    let rk = client.admin().inner().native_ptr();
    // SAFETY: `rk` lives as long as `client`. Each object made here is owned by a guard that destroys it once, the event
    // after everything read from it was copied; the names are copied by the collection.
    unsafe {
        let topics = Owned::new(
            sys::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len()),
            destroy_topics,
        );
        let operation = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = Owned::new(sys::rd_kafka_AdminOptions_new(rk, operation), destroy_options);
        let (limit, mut text) = (CALL_LIMIT.as_millis() as i32, [0; 256]);
        sys::rd_kafka_AdminOptions_set_request_timeout(options.0, limit, text.as_mut_ptr(), text.len());
        let queue = Owned::new(sys::rd_kafka_queue_new(rk), destroy_queue);
        sys::rd_kafka_DescribeTopics(rk, topics.0, options.0, queue.0);
        let event = sys::rd_kafka_queue_poll(queue.0, limit + 1_000);
        if event.is_null() {
            return Err(Error::new(Kind::Unavailable, format!("Kafka did not describe topic {topic}")));
        }
        let event = Owned::new(event, destroy_event);
        read(event.0, topic)
    }
}

/// SAFETY: the event is live and the answer to a DescribeTopics of one topic.
unsafe fn read(event: *mut sys::rd_kafka_event_t, topic: &str) -> Result<Description> {
    unsafe {
        check(sys::rd_kafka_event_error(event), topic)?;
        let result = sys::rd_kafka_event_DescribeTopics_result(event);
        let mut count = 0;
        let found = if result.is_null() {
            ptr::null_mut()
        } else {
            sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut count)
        };
        if found.is_null() || count != 1 {
            return Err(Error::new(Kind::Unavailable, format!("Kafka described no topic {topic}")));
        }
        let description = *found;
        let error = sys::rd_kafka_TopicDescription_error(description);
        if !error.is_null() {
            check(sys::rd_kafka_error_code(error), topic)?;
        }
        let mut partitions = 0;
        sys::rd_kafka_TopicDescription_partitions(description, &raw mut partitions);
        let id = sys::rd_kafka_TopicDescription_topic_id(description);
        let text = if id.is_null() { ptr::null() } else { sys::rd_kafka_Uuid_base64str(id) };
        if text.is_null() {
            return Err(Error::new(Kind::Incompatible, "Kafka gives no topic ids; it must be 2.8 or newer"));
        }
        let incarnation = CStr::from_ptr(text).to_string_lossy().into_owned();
        Ok(Description { topic: topic.to_owned(), partitions: partitions as u32, incarnation })
    }
}

fn check(code: RDKafkaRespErr, topic: &str) -> Result<()> {
    match code {
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART => Err(unknown_topic(topic)),
        code => Err(of_code(&format!("topic {topic} cannot be described"), code.into())),
    }
}

/// A pointer that is destroyed when it goes out of scope.
struct Owned<T>(*mut T, unsafe fn(*mut T));

impl<T> Owned<T> {
    fn new(pointer: *mut T, destroy: unsafe fn(*mut T)) -> Self {
        Self(pointer, destroy)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the pointer came from librdkafka, is destroyed nowhere else, and its destroyer belongs to it.
            unsafe { (self.1)(self.0) }
        }
    }
}

unsafe fn destroy_topics(topics: *mut Topics) {
    unsafe { sys::rd_kafka_TopicCollection_destroy(topics) }
}

unsafe fn destroy_options(options: *mut Options) {
    unsafe { sys::rd_kafka_AdminOptions_destroy(options) }
}

unsafe fn destroy_queue(queue: *mut sys::rd_kafka_queue_t) {
    unsafe { sys::rd_kafka_queue_destroy(queue) }
}

unsafe fn destroy_event(event: *mut sys::rd_kafka_event_t) {
    unsafe { sys::rd_kafka_event_destroy(event) }
}
