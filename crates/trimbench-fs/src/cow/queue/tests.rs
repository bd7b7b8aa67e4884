use super::super::config::{PoolConfig, TrimManner};
use super::*;

fn queue() -> ClassQueue<&'static str> {
    ClassQueue::new(PoolConfig::new(TrimManner::FreeBsd2017).limits)
}

fn fill(queue: &mut ClassQueue<&'static str>, class: Class, name: &'static str, count: usize) {
    (0..count).for_each(|_| queue.add(class, name));
}

fn taken(queue: &mut ClassQueue<&'static str>, async_writes: u32) -> Vec<(&'static str, usize)> {
    let mut runs: Vec<(&str, usize)> = Vec::new();
    while let Some(name) = queue.take(async_writes) {
        match runs.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => runs.push((name, 1)),
        }
    }
    runs
}

#[test]
fn each_class_gets_its_least_then_the_urgent_ones_their_most() {
    let mut queue = queue();
    for (class, name) in [
        (Class::Trim, "trim"),
        (Class::AsyncWrite, "write"),
        (Class::AsyncRead, "prefetch"),
        (Class::SyncWrite, "flush"),
        (Class::SyncRead, "read"),
    ] {
        fill(&mut queue, class, name, 100);
    }
    let expected = [
        ("read", 10),
        ("flush", 10),
        ("prefetch", 1),
        ("write", 1),
        ("trim", 1),
        ("prefetch", 2),
        ("write", 9),
        ("trim", 63),
    ];
    assert_eq!(taken(&mut queue, 10), expected);
    assert_eq!((queue.foreground(), queue.trims()), (400, 100));
    queue.ended(Class::Trim);
    assert_eq!(taken(&mut queue, 10), [("trim", 1)], "only its own class may follow");
}

#[test]
fn writes_that_are_held_take_the_places_of_others() {
    let mut queue = queue();
    fill(&mut queue, Class::AsyncWrite, "held", 10);
    assert_eq!(taken(&mut queue, 10), [("held", 10)]);
    fill(&mut queue, Class::AsyncWrite, "write", 5);
    fill(&mut queue, Class::Trim, "trim", 5);
    assert_eq!(taken(&mut queue, 10), [("trim", 5)], "no write passes the ten");
}

#[test]
fn the_whole_queue_has_a_most_too() {
    let mut queue = queue();
    queue.limits.total = 12;
    fill(&mut queue, Class::SyncRead, "read", 20);
    fill(&mut queue, Class::Trim, "trim", 20);
    assert_eq!(taken(&mut queue, 10), [("read", 10), ("trim", 2)]);
}
