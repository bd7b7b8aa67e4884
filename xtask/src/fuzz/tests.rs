use super::corpus::Corpus;
use super::execution;

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
