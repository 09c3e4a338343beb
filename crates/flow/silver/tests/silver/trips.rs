use silver::Silver;
use silver::consume::Shipments;
use silver::steps::DbsMode;
use testing::{Counted, record, trips};
use united::United;
use wire::united::Colour;

use crate::world::{World, said};

/// A batch costs as many round trips as a single message.
#[tokio::test]
async fn round_trips_do_not_grow_with_the_slice() {
    let world = World::in_memory();
    let mut records = Vec::new();
    for number in 0..30 {
        let sku = format!("s{number}");
        for message in world.write(&sku, 1, said(number, Colour::Dbs, "A", 5), false).await {
            records.push(record(number, "7", message));
        }
    }
    let (counted, store) = Counted::over(&world.united.store);
    let mode = serde_json::to_string(&DbsMode::BlueAndSomeDbs).unwrap();
    let key = silver::settings::DBS_MODE;
    for limited in [false, true] {
        if limited {
            silver::settings::set(&store, key, &mode, None, "test", world.now()).await.unwrap();
        }
        let silver = Silver::new(United { store: store.clone(), ..world.united.clone() });
        silver.read_settings().await.unwrap();
        let handler = Shipments(silver);
        let one = trips(&store, &counted, &handler, &records[..1]).await;
        let many = trips(&store, &counted, &handler, &records[1..]).await;
        assert_eq!(one, many, "limited: {limited}");
    }
}
