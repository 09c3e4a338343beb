use super::{Case, Outcome, ensure, fresh, whole};
use crate::{Body, Hash, Kind, Limits, ObjectName, Referrer};

pub(super) async fn shared(case: &Case) -> Outcome {
    let content = fresh(300 << 10);
    let hash = case.keep(&content, "test:a").await?;
    let again = case.keep(&content, "test:b").await?;
    ensure!(hash == again, "the same content has two hashes");
    ensure!(case.objects_of(&hash).await?.len() == 1, "the same content is two objects");
    case.let_go(&hash, "test:a").await?;
    ensure!(case.delete_due().await? == 0, "a file was deleted that somebody holds");
    ensure!(case.files.open(&hash).await?.bytes().await? == content, "it came back changed");
    case.let_go(&hash, "test:b").await?;
    let released = case.files.open(&hash).await.map(drop);
    ensure!(released.as_ref().is_err_and(|error| error.kind() == Kind::NotFound), "it gave {released:?}");
    ensure!(case.delete_due().await? == 1, "a file was not deleted that nobody holds");
    ensure!(case.objects_of(&hash).await?.is_empty(), "its object is still there");
    Ok(())
}

pub(super) async fn crowd(case: &Case) -> Outcome {
    let content = fresh(400 << 10);
    let names: Vec<_> = (0..8).map(|number| format!("test:crowd/{number}")).collect();
    let kept = futures::future::try_join_all(names.iter().map(|name| case.keep(&content, name))).await?;
    let hash = Hash::of(&content);
    ensure!(kept.iter().all(|one| *one == hash), "the hashes differ");
    ensure!(case.objects_of(&hash).await?.len() == 1, "the same content is several objects");
    ensure!(case.files.open(&hash).await?.bytes().await? == content, "it came back changed");
    for name in &names {
        case.let_go(&hash, name).await?;
    }
    ensure!(case.delete_due().await? == 1, "it was not deleted");
    Ok(())
}

pub(super) async fn next_generation(case: &Case) -> Outcome {
    let content = fresh(2_000);
    let hash = case.keep(&content, "test:first").await?;
    let first = case.objects_of(&hash).await?[0];
    case.let_go(&hash, "test:first").await?;
    // Put again before the deletion is due, and again after it.
    case.keep(&content, "test:second").await?;
    let both = case.objects_of(&hash).await?;
    ensure!(both.len() == 2 && both[1].generation > first.generation, "the objects are {both:?}");
    ensure!(case.delete_due().await? == 1, "the first object was not deleted");
    ensure!(case.objects_of(&hash).await? == [both[1]], "another object than the first was deleted");
    case.let_go(&hash, "test:second").await?;
    case.delete_due().await?;
    case.keep(&content, "test:third").await?;
    let third = case.objects_of(&hash).await?;
    ensure!(third.len() == 1 && third[0].generation > both[1].generation, "the objects are {third:?}");
    for late in both {
        case.objects.delete(&late).await?;
    }
    let found = case.files.open(&hash).await?.bytes().await?;
    ensure!(found == content, "a late deletion of an old generation hit the new one");
    case.let_go(&hash, "test:third").await?;
    case.delete_due().await?;
    ensure!(case.objects_of(&hash).await?.is_empty(), "an object is left");
    Ok(())
}

pub(super) async fn repeats(case: &Case) -> Outcome {
    let content = fresh(70_000);
    let name = ObjectName { hash: Hash::of(&content), generation: 3 };
    let body = Body::Memory(content.into());
    case.objects.put(&name, &body).await?;
    case.objects.put(&name, &body).await?;
    ensure!(case.objects.size(&name).await? == Some(70_000), "the object has another size");
    ensure!(case.objects_of(&name.hash).await? == [name], "the object is not listed once");
    case.objects.delete(&name).await?;
    case.objects.delete(&name).await?;
    ensure!(case.objects.size(&name).await?.is_none(), "the object is still there");

    let hash = case.keep(b"", "test:repeats").await?;
    case.keep(b"", "test:repeats").await?;
    case.let_go(&hash, "test:repeats").await?;
    case.let_go(&hash, "test:repeats").await?;
    ensure!(case.delete_due().await? == 1, "there was not one deletion");
    Ok(())
}

pub(super) async fn confirm(case: &Case) -> Outcome {
    let content = fresh(10);
    let (hash, referrer) = (Hash::of(&content), Referrer::new("test:confirm")?);
    let early = case.files.confirm(&hash, &referrer).await;
    ensure!(early.as_ref().is_err_and(|error| error.kind() == Kind::NotFound), "it gave {early:?}");
    let incoming = case.files.receive(whole(&content), Limits::up_to(10)).await?;
    case.files.put(incoming, &referrer).await?;
    case.files.confirm(&hash, &referrer).await?;
    case.files.confirm(&hash, &referrer).await?;
    case.let_go(&hash, "test:confirm").await?;
    let late = case.files.confirm(&hash, &referrer).await;
    ensure!(late.as_ref().is_err_and(|error| error.kind() == Kind::NotFound), "it gave {late:?}");
    case.delete_due().await?;
    Ok(())
}
