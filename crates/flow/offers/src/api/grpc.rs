//! The same reads and writes for services that speak gRPC.

use model::{Content, Offer, OfferId};
use tonic::{Request, Response, Status};
use web::{Access, Code, Language, Problem};
use wire::offers as wired;
use wire::offers::act_request::Verb as WireVerb;
use wire::offers::events_response::Event as WireEvent;
use wire::offers::{
    ActRequest, CountersResponse, CountsResponse, CreateRequest, EventsRequest, EventsResponse, GetRequest,
    ListRequest, ListResponse, LookupRequest, LookupResponse, OpineResponse, Opinion, SellerRequest,
    UpdateRequest, opine_response,
};

use super::call::{require_seller, visible};
use crate::cabinet::Place;
use crate::idempotency::Key;
use crate::moderation::{self, Effect};
use crate::presets::Preset;
use crate::write::{Event, Expected, Verb, by_api};
use crate::{Error, Offers, read, validate};

/// Generated.
#[allow(clippy::all, clippy::pedantic, unreachable_pub)]
mod service {
    include!(concat!(env!("OUT_DIR"), "/dvor.offers.v1.rs"));
}

pub use service::offers_client::OffersClient;
use service::offers_server::Offers as Service;
pub use service::offers_server::OffersServer;

type Answer<T> = Result<Response<T>, Status>;

const USUAL: usize = 50;
const MOST: usize = 500;

/// The service over these offers.
pub fn service(offers: Offers) -> OffersServer<Door> {
    OffersServer::new(Door(offers))
}

pub struct Door(Offers);

/// Who calls; the server's guard has put it there.
fn access<T>(request: &Request<T>) -> Result<Access, Status> {
    let missing = || Problem::new(Code::Unauthorized, "this call needs an access token");
    request.extensions().get().cloned().ok_or_else(|| missing().into())
}

/// gRPC speaks English: its callers are programs. The fields that are wrong are part of the sentence.
fn status(error: Error) -> Status {
    let mut problem = error.problem(Language::English);
    if problem.errors.len() > 1 {
        let fields = problem.errors.iter().map(|error| format!("{}: {}", error.field, error.message));
        problem.detail = fields.collect::<Vec<_>>().join("; ");
    }
    problem.into()
}

fn limited(limit: u32) -> Result<usize, Status> {
    let asked = if limit == 0 { None } else { Some(limit as usize) };
    Ok(web::limit(asked, USUAL, MOST)?)
}

fn expected(version: i64) -> Expected {
    if version == 0 { Expected::Any } else { Expected::Version(version) }
}

impl Door {
    async fn visible(&self, access: &Access, id: &str) -> Result<(OfferId, Offer), Status> {
        visible(&self.0, access, id).await.map_err(status)
    }

    fn valid(&self, content: Option<Content>) -> Result<Content, Status> {
        let content = validate::settle(&self.0.catalog, content.unwrap_or_default());
        validate::require(&self.0.catalog, &content).map_err(status)?;
        Ok(content)
    }
}

#[tonic::async_trait]
impl Service for Door {
    async fn get(&self, request: Request<GetRequest>) -> Answer<Offer> {
        let access = access(&request)?;
        let (_, offer) = self.visible(&access, &request.into_inner().id).await?;
        Ok(Response::new(offer))
    }

    async fn lookup(&self, request: Request<LookupRequest>) -> Answer<LookupResponse> {
        let access = access(&request)?;
        let texts = request.into_inner().ids;
        if texts.len() > MOST {
            return Err(Problem::field("ids", "too_many", format!("at most {MOST} ids are allowed")).into());
        }
        let ids: Result<Vec<OfferId>, _> = texts.iter().map(|id| id.parse()).collect();
        let ids = ids.map_err(|error| status(Error::BadId(error)))?;
        let mut answer = LookupResponse::default();
        for (id, offer) in read::across(&self.0, &ids).await.map_err(status)? {
            match offer.filter(|offer| access.sees_seller(&offer.seller_id)) {
                Some(offer) => answer.offers.push(offer),
                None => answer.missing.push(id.to_string()),
            }
        }
        Ok(Response::new(answer))
    }

    async fn create(&self, request: Request<CreateRequest>) -> Answer<Offer> {
        let access = access(&request)?;
        let CreateRequest { seller_id, content, idempotency_key } = request.into_inner();
        require_seller(&access, "seller_id", &seller_id)?;
        let asked = prost::Message::encode_to_vec(&content.clone().unwrap_or_default());
        let content = self.valid(content)?;
        let actor = by_api(access.who(), "create");
        let created = if idempotency_key.is_empty() {
            self.0.create(&seller_id, content, &actor).await
        } else {
            let key = Key::new("create", &idempotency_key, &asked).map_err(status)?;
            self.0.create_once(&seller_id, content, &actor, &key).await
        };
        Ok(Response::new(created.map_err(status)?))
    }

    async fn update(&self, request: Request<UpdateRequest>) -> Answer<Offer> {
        let access = access(&request)?;
        let UpdateRequest { id, content, version } = request.into_inner();
        let (id, _) = self.visible(&access, &id).await?;
        let content = self.valid(content)?;
        let actor = by_api(access.who(), "edit");
        let edited = self.0.edit(id, expected(version), &actor, |_| Ok(content.clone())).await;
        Ok(Response::new(edited.map_err(status)?))
    }

    async fn act(&self, request: Request<ActRequest>) -> Answer<Offer> {
        let access = access(&request)?;
        let asked = request.into_inner();
        let verb = match asked.verb() {
            WireVerb::Unspecified => {
                return Err(Problem::field("verb", "required", "say what to do with the offer").into());
            }
            WireVerb::Withdraw => Verb::Withdraw,
            WireVerb::Activate => Verb::Activate,
            WireVerb::Prolong => Verb::Prolong,
            WireVerb::SellHere => Verb::SellHere,
            WireVerb::SellElsewhere => Verb::SellElsewhere,
            WireVerb::Delete => Verb::Delete,
        };
        let (id, _) = self.visible(&access, &asked.id).await?;
        let actor = by_api(access.who(), verb.reason());
        let moved = self.0.act(id, verb, expected(asked.version), &actor).await;
        Ok(Response::new(moved.map_err(status)?))
    }

    async fn list(&self, request: Request<ListRequest>) -> Answer<ListResponse> {
        let access = access(&request)?;
        let ListRequest { seller_id, preset, limit, cursor } = request.into_inner();
        require_seller(&access, "seller_id", &seller_id)?;
        let preset = if preset.is_empty() { Some(Preset::All) } else { Preset::parse(&preset) };
        let preset =
            preset.ok_or_else(|| Problem::field("preset", "not_an_option", "there is no such list"))?;
        let place = if cursor.is_empty() { None } else { Some(Place::parse(&cursor)) };
        let place = place
            .map(|place| place.ok_or_else(|| Problem::field("cursor", "bad_cursor", "this is no cursor")))
            .transpose()?;
        let page = self.0.page(&seller_id, preset, place, limited(limit)?).await;
        let (offers, next) = page.map_err(status)?;
        let next_cursor = next.map(Place::cursor).unwrap_or_default();
        Ok(Response::new(ListResponse { offers, next_cursor }))
    }

    async fn counts(&self, request: Request<SellerRequest>) -> Answer<CountsResponse> {
        let access = access(&request)?;
        let seller = request.into_inner().seller_id;
        require_seller(&access, "seller_id", &seller)?;
        let counts = self.0.counts(&seller).await.map_err(status)?;
        let counts = counts.into_iter().map(|(preset, count)| (preset.name().to_owned(), count)).collect();
        Ok(Response::new(CountsResponse { counts }))
    }

    async fn counters(&self, request: Request<SellerRequest>) -> Answer<CountersResponse> {
        let access = access(&request)?;
        let seller = request.into_inner().seller_id;
        require_seller(&access, "seller_id", &seller)?;
        let counters = self.0.counters(&seller).await.map_err(status)?;
        let money = |(currency, minor): (String, i64)| model::Money { minor, currency };
        Ok(Response::new(CountersResponse {
            active: counters.active,
            expired: counters.expired,
            banned: counters.banned,
            sold: counters.sold,
            money_earned: counters.money_earned.into_iter().map(money).collect(),
        }))
    }

    async fn events(&self, request: Request<EventsRequest>) -> Answer<EventsResponse> {
        let access = access(&request)?;
        let EventsRequest { id, limit, below_version } = request.into_inner();
        let (id, _) = self.visible(&access, &id).await?;
        let below = (below_version > 0).then_some(below_version);
        let events = self.0.events(id, below, limited(limit)?).await.map_err(status)?;
        let event = |Event { version, row }: Event| WireEvent { version, event: Some(row) };
        Ok(Response::new(EventsResponse { events: events.into_iter().map(event).collect() }))
    }

    async fn opine(&self, request: Request<Opinion>) -> Answer<OpineResponse> {
        let access = access(&request)?;
        access.require_service()?;
        let mut opinion = request.into_inner();
        if opinion.timestamp == 0 {
            opinion.timestamp = self.0.clock.now().0;
        }
        if opinion.moderator.is_empty() {
            access.who().clone_into(&mut opinion.moderator);
        }
        let id =
            moderation::check(&opinion).map_err(|detail| Problem::field("opinion", "invalid", detail))?;
        let effect = self.0.opine(id, &opinion).await.map_err(status)?;
        let (effect, offer) = match effect {
            Effect::Applied(offer) => (opine_response::Effect::Applied, Some(*offer)),
            Effect::Older => (opine_response::Effect::Older, None),
            Effect::Early => (opine_response::Effect::Early, None),
        };
        Ok(Response::new(wired::OpineResponse { effect: effect.into(), offer }))
    }
}
