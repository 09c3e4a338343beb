use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

use crate::{Error, Kind};

pub(super) fn error(what: &str, cause: KafkaError) -> Error {
    let kind = cause.rdkafka_error_code().map_or(Kind::Unavailable, kind);
    Error::with_source(kind, what, cause)
}

pub(super) fn of_code(what: &str, code: Code) -> Error {
    Error::with_source(kind(code), what, code)
}

/// What a code says about a write: only what the broker or the client refused for certain *did not happen*.
fn kind(code: Code) -> Kind {
    match code {
        Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition => Kind::UnknownTopic,
        Code::MessageSizeTooLarge
        | Code::InvalidTopic
        | Code::InvalidPartitions
        | Code::InvalidReplicationFactor
        | Code::InvalidConfig
        | Code::InvalidArgument
        | Code::PolicyViolation => Kind::Invalid,
        Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::SaslAuthenticationFailed
        | Code::Authentication => Kind::Denied,
        Code::QueueFull
        | Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::OperationTimedOut
        | Code::Resolve
        | Code::LeaderNotAvailable
        | Code::NotLeaderForPartition
        | Code::BrokerNotAvailable
        | Code::NotEnoughReplicas
        | Code::CoordinatorNotAvailable
        | Code::CoordinatorLoadInProgress
        | Code::NotCoordinator
        | Code::Fatal
        | Code::State => Kind::Unavailable,
        Code::UnknownMemberId
        | Code::IllegalGeneration
        | Code::RebalanceInProgress
        | Code::AssignmentLost
        | Code::FencedInstanceId => Kind::NotAssigned,
        _ => Kind::Unknown,
    }
}
