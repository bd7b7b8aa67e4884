use std::time::Duration;

use super::corpus::Corpus;
use super::{HANG, Watch, execution};

#[test]
fn executions_of_a_seed_hold_and_are_always_the_same() {
    let corpus = Corpus::new().unwrap();
    let all = || -> Vec<_> {
        (0..2_000).map(|number| execution::run(&corpus, 7, number).unwrap()).collect()
    };
    let done = all();
    assert_eq!(done, all());
    let whole = done.iter().filter(|done| done.whole).count();
    assert!((200..1_800).contains(&whole), "{whole} of 2000 were read to their end");
    assert!(done.iter().map(|done| done.records).sum::<u64>() > 2_000);
}

#[test]
fn what_is_not_over_after_much_processor_time_hangs() {
    let mut watch = Watch::new(2);
    let second = Duration::from_secs(1);
    assert_eq!(watch.look(&[4, 5], second), None);
    // The second worker goes on, the first does not.
    assert_eq!(watch.look(&[4, 6], second + HANG), None);
    assert_eq!(watch.look(&[4, 7], HANG * 2), None);
    // However often it is looked at while nothing is computed.
    assert!((0..1_000).all(|_| watch.look(&[4, 7], HANG * 2).is_none()));
    assert_eq!(watch.look(&[4, 8], second + HANG * 2), Some(4));
    // A worker that has nothing to do any more does not hang.
    assert_eq!(watch.look(&[u64::MAX, 9], HANG * 3), None);
    assert_eq!(watch.look(&[u64::MAX, 10], HANG * 9), None);
}
