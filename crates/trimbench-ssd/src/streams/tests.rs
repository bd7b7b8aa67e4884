use super::*;

const SWITCH: Nanos = Nanos::from_millis(2);

/// The writes that do not continue a stream, of these, by place.
fn switches(count: u32, writes: &[(u32, u32)]) -> Vec<usize> {
    let mut streams = WriteStreams::new(WriteStreamsConfig { count, switch: SWITCH });
    let mut costs = writes.iter().map(|&(first, end)| streams.write(first, end)).enumerate();
    let dear: Vec<_> = costs.by_ref().filter(|(_, cost)| *cost > Nanos::ZERO).collect();
    assert!(dear.iter().all(|(_, cost)| *cost == SWITCH));
    dear.into_iter().map(|(place, _)| place).collect()
}

#[test]
fn a_write_that_continues_none_of_the_last_streams_costs_a_switch() {
    // Two streams in turn.
    let two = [(0, 8), (100, 108), (8, 16), (108, 116), (16, 24), (116, 124)];
    assert_eq!(switches(2, &two), [0, 1]);
    assert_eq!(switches(1, &two), [0, 1, 2, 3, 4, 5]);
    // A third takes the place of the one that was continued least recently.
    let third = [(0, 8), (100, 108), (8, 16), (500, 501), (16, 24), (108, 109)];
    assert_eq!(switches(2, &third), [0, 1, 3, 5]);
    // Neither a rewrite nor a gap continues a stream.
    assert_eq!(switches(4, &[(0, 8), (0, 8), (9, 10)]), [0, 1, 2]);
}
