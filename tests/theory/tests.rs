use super::{d_choices, fifo, fifo_of_classes, greedy, share_in_use};

/// Published and independently computed values have three or four digits after the point.
fn assert_near(value: f64, expected: f64, what: &str) {
    let digits: f64 = if expected < 3.0 { 0.000_6 } else { 0.001 };
    assert!((value - expected).abs() < digits.max(expected * 1e-4), "{what}: {value}, {expected}");
}

#[test]
fn fifo_and_greedy_are_as_tabulated() {
    for (op, by_fifo, by_greedy) in [
        (0.05, 10.672, [9.196, 9.877, 10.259, 10.566, 10.645]),
        (0.07, 7.817, [7.010, 7.392, 7.597, 7.761, 7.803]),
        (0.125, 4.680, [4.389, 4.528, 4.603, 4.660, 4.675]),
        (0.20, 3.188, [3.053, 3.119, 3.153, 3.179, 3.186]),
        (0.28, 2.481, [2.403, 2.441, 2.461, 2.476, 2.480]),
        (0.50, 1.716, [1.681, 1.698, 1.707, 1.714, 1.715]),
    ] {
        assert_near(fifo(1.0 + op), by_fifo, &format!("FIFO at {op}"));
        for (units, expected) in [64, 128, 256, 1024, 4096].into_iter().zip(by_greedy) {
            assert_near(greedy(1.0 + op, units), expected, &format!("greedy of {units} at {op}"));
        }
    }
    // Xiang and Kurkoski print 2.36 for a spare of 0.3.
    assert_near(fifo(1.3), 2.3642, "FIFO at 0.3");
}

#[test]
fn choices_are_as_tabulated_and_lie_between_random_and_greedy() {
    for (op, two, ten) in [
        (0.07, 10.475, 7.650),
        (0.125, 6.267, 4.666),
        (0.20, 4.236, 3.205),
        (0.28, 3.264, 2.504),
        (0.50, 2.198, 1.735),
    ] {
        assert_near(d_choices(1.0 + op, 128, 2), two, &format!("2 choices at {op}"));
        assert_near(d_choices(1.0 + op, 128, 10), ten, &format!("10 choices at {op}"));
        // A random choice: one over the spare factor, whatever the superblock.
        assert_near(d_choices(1.0 + op, 64, 1), (1.0 + op) / op, &format!("1 choice at {op}"));
        let many = d_choices(1.0 + op, 64, 1_000) / greedy(1.0 + op, 64);
        assert!((many - 1.0).abs() < 0.005, "1000 choices at {op}: {many} of greedy");
    }
    assert_near(d_choices(1.07, 64, 2), 10.277, "2 choices of 64");
}

#[test]
fn classes_are_as_tabulated_and_uniform_ones_are_fifo() {
    let skewed = |share: f64| [(share, 1.0 - share), (1.0 - share, share)];
    for (op, expected) in [(0.07, 8.1818), (0.125, 5.0374), (0.20, 3.5356), (0.28, 2.8196)] {
        assert_near(fifo_of_classes(1.0 + op, &skewed(0.8)), expected, &format!("80/20 at {op}"));
        assert_near(fifo_of_classes(1.0 + op, &skewed(0.5)), fifo(1.0 + op), "50/50");
    }
    // What an independent simulation gave, within 0.03 %.
    for (op, simulated) in [(0.07, 8.8659), (0.125, 5.6520), (0.20, 4.0748), (0.28, 3.2959)] {
        let value = fifo_of_classes(1.0 + op, &skewed(0.9));
        assert!((value / simulated - 1.0).abs() < 3e-4, "90/10 at {op}: {value}, {simulated}");
    }
}

#[test]
fn trimmed_space_is_as_tabulated() {
    for (q, in_use, at_7, at_28) in [
        (0.05, 0.9474, 4.543, 2.126),
        (0.1, 0.8889, 3.1421, 1.847),
        (0.2, 0.75, 1.881, 1.441),
        (0.3, 0.5714, 1.319, 1.174),
        (0.4, 0.3333, 1.049, 1.024),
    ] {
        let share = share_in_use(q);
        assert_near(share, in_use, &format!("in use at {q}"));
        assert_near(fifo(1.07 / share), at_7, &format!("7 % at {q}"));
        assert_near(fifo(1.28 / share), at_28, &format!("28 % at {q}"));
    }
    for (trimmed, at_7, at_28) in
        [(0.05, 4.639, 2.141), (0.1, 3.334, 1.893), (0.13, 2.866, 1.774), (0.25, 1.881, 1.441)]
    {
        assert_near(fifo(1.07 / (1.0 - trimmed)), at_7, &format!("7 %, {trimmed} trimmed"));
        assert_near(fifo(1.28 / (1.0 - trimmed)), at_28, &format!("28 %, {trimmed} trimmed"));
    }
}
