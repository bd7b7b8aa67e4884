use super::*;
use crate::advice::facts::Trust;
use crate::testing::{figure, session};

fn of(sessions: &[Session], noticeable: Known) -> Vec<String> {
    let sessions: Vec<&Session> = sessions.iter().collect();
    remedies(&Facts::new(&sessions, Trust::Valid), noticeable)
}

#[test]
fn ordered_data_are_named_where_their_lack_costs() {
    let with = |key: &str, value: &str| {
        let mut it = session("postmark", Vec::new());
        it.target.identity.insert(key.to_owned(), value.to_owned());
        vec![it]
    };
    for (key, value, said) in [
        ("mount-options", "rw,discard,data=writeback", Some("is mounted with `data=writeback`")),
        ("journaling", "writeback", Some("is mounted with `data=writeback`")),
        ("journaling", "none", Some("has no journal")),
        ("journaling", "ordered", None),
        ("mount-options", "rw,discard,data=ordered", None),
    ] {
        let found = of(&with(key, value), Known::Yes);
        match said {
            Some(said) => assert!(found[0].contains(said), "{found:?}"),
            None => assert!(found.is_empty(), "{found:?}"),
        }
        assert!(of(&with(key, value), Known::No).is_empty(), "it costs nothing");
    }
}

#[test]
fn files_below_the_granularity_are_named() {
    let of_granularity = |granularity: &str, option: &str, sizes: &str| {
        let mut it = session("delete-stall", Vec::new());
        it.target.capabilities.insert("discard-granularity".into(), granularity.into());
        it.plan.options.insert(option.to_owned(), sizes.to_owned());
        of(&[it], Known::No)
    };
    let found = of_granularity("2MiB", "sizes", "1MiB,1GiB");
    assert!(found[0].starts_with("freed extents of 1MiB are smaller"), "{found:?}");
    assert!(of_granularity("1MiB", "sizes", "1MiB,1GiB").is_empty());
    assert_eq!(of_granularity("1MiB", "file-sizes", "256KiB,1MiB").len(), 1);
    assert!(of_granularity("4KiB", "file-sizes", "512B").is_empty(), "a block is freed");
    assert!(of_granularity("none", "sizes", "1MiB").is_empty(), "a broken record says nothing");
}

#[test]
fn a_broken_promise_of_zeroes_is_told_to_users_of_md() {
    let broken = |blocks| {
        of(
            &[session("trim-integrity", vec![figure("promise-violations", blocks, "blocks")])],
            Known::No,
        )
    };
    assert!(broken(0.0).is_empty());
    assert!(broken(3.0)[0].contains("raid456.devices_handle_discard_safely"));
}
