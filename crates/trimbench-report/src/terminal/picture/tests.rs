use proptest::prelude::*;

use super::*;

/// A mark that is in no picture.
const OUTSIDE: (f64, &str) = (-1.0, "");

fn line(values: &[f64], width: usize) -> String {
    sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>(), width, true)
}

proptest! {
    #[test]
    fn one_extreme_among_many_is_always_seen(
        count in 1_usize..2_000,
        width in 1_usize..120,
        place in 0.0..1.0_f64,
    ) {
        let mut values = vec![Some(0.1); count];
        let position = index(rounded((place * count as f64).floor())).min(count - 1);
        values[position] = Some(2_000.0);
        for unicode in [true, false] {
            let text = sparkline(&values, width, unicode);
            let top = if unicode { BLOCKS[7] } else { LETTERS[7] };
            let columns = width.min(count);
            prop_assert_eq!(text.chars().count(), columns);
            prop_assert_eq!(text.chars().position(|c| c == top), Some(position * columns / count));
            prop_assert_eq!(text.chars().filter(|&c| c == top).count(), 1);
        }
    }
}

#[test]
fn a_line_rises_in_eighths_from_zero() {
    assert_eq!(line(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 8), "▁▂▃▄▅▆▇█");
    assert_eq!(line(&[6.0, 7.0], 8), "▇█", "zero is the floor, not the smallest value");
    assert_eq!(line(&[-7.0, 0.0], 8), "▁█");
    assert_eq!(line(&[0.0, 0.0], 8), "▁▁");
    assert_eq!(line(&[], 8), "");
    assert_eq!(line(&[1.0], 0), "");
}

#[test]
fn what_is_missing_is_blank_and_what_is_there_never() {
    let values = [Some(0.0), None, Some(f64::NAN), Some(f64::INFINITY), Some(7.0)];
    assert_eq!(sparkline(&values, 10, true), "▁   █");
    assert_eq!(sparkline(&values, 10, false), ".   @");
    assert_eq!(sparkline(&[None, Some(1.0), None, None], 2, true), "█ ");
}

fn series(x: Vec<f64>, y: Vec<Option<f64>>) -> Series {
    Series::new("s", "ms", x, y).unwrap()
}

#[test]
fn the_picture_shows_heights_to_scale() {
    let style = Style { width: 40, colour: false, unicode: true };
    let x: Vec<f64> = (0..4).map(f64::from).collect();
    let lines = picture(&series(x, vec![Some(8.0), Some(4.0), None, Some(1e-9)]), OUTSIDE, style);
    let height = |column: usize| {
        let cell = |line: &&String| line.chars().nth(6 + column).is_some_and(|c| c != ' ');
        lines[..ROWS].iter().filter(cell).count()
    };
    // 34 columns: x = 0, 1, 2, 3 lie in 0, 11, 22, 33.
    assert_eq!([height(0), height(11), height(22), height(33)], [8, 4, 0, 1]);
    assert!(lines[0].starts_with("8 ms │█"));
    assert_eq!(lines[ROWS], "      0 s                            3 s");
    assert!(picture(&series(vec![], vec![]), OUTSIDE, style).is_empty());
}

#[test]
fn a_curve_of_one_point_or_of_zeros_is_drawn() {
    let style = Style { width: 40, colour: false, unicode: true };
    let one = picture(&series(vec![5.0], vec![Some(3.0)]), (5.0, "here"), style);
    assert_eq!(one.len(), ROWS + 2);
    assert!(one[0].contains('█'));
    let zeros = picture(&series(vec![0.0, 1.0], vec![Some(0.0), Some(0.0)]), OUTSIDE, style);
    assert_eq!(zeros[ROWS - 1].matches('▁').count(), 2);
    assert_eq!(zeros[0].matches('█').count(), 0);
}

#[test]
fn the_mark_keeps_its_label_inside() {
    let style = Style { width: 40, colour: false, unicode: false };
    let curve = series(vec![0.0, 10.0], vec![Some(8.0), Some(8.0)]);
    let mark = |x: f64, label: &str| picture(&curve, (x, label), style).pop().unwrap();
    assert_eq!(mark(0.0, "gone"), "      ^ gone");
    assert_eq!(mark(10.0, "gone"), format!("{:34}gone ^", ""));
    assert_eq!(mark(5.0, &"x".repeat(32)).trim(), "^");
    assert_eq!(picture(&curve, (11.0, "outside"), style).len(), ROWS + 1);
}

#[test]
fn curves_share_their_axes_and_each_step_up_is_a_factor() {
    let x: Vec<f64> = (0..4).map(f64::from).collect();
    let low = series(x.clone(), vec![Some(1.0), Some(2.9), None, Some(0.0)]);
    let high = series(vec![3.0, 7.0], vec![Some(3.0), Some(2_187.0)]);
    let shared = Columns::of(&[&low, &high], 8).unwrap();
    let (lines, factor) = shared.by_factor(&[&low, &high], true);
    assert_eq!(lines, ["▁▁ ▁    ", "   ▂   █"]);
    // Seven steps by 2 reach 128, by 3 they reach 2187.
    assert_eq!(factor, 3);
    let style = Style { width: 40, colour: false, unicode: false };
    assert_eq!(shared.mark(3.0, "x", style).as_deref(), Some("   ^ x"));
    assert_eq!(shared.mark(7.1, "x", style), None);
    assert_eq!(shared.axis("s"), "0 s  7 s");

    let quiet = series(vec![0.0, 1.0], vec![Some(0.0), Some(0.0)]);
    let (lines, _) = Columns::of(&[&quiet], 2).unwrap().by_factor(&[&quiet], false);
    assert_eq!(lines, [".."]);
    assert_eq!(Columns::of(&[&series(vec![], vec![])], 8), None);
    assert_eq!(Columns::of(&[], 8), None);
}

#[test]
fn a_value_that_nothing_can_be_compared_with_is_drawn_as_a_zero() {
    let extremes = series(vec![0.0, 1.0, 2.0], vec![Some(1e-320), Some(5.0), Some(0.0)]);
    let (lines, factor) = Columns::of(&[&extremes], 3).unwrap().by_factor(&[&extremes], true);
    assert!(factor <= 1_001, "{factor}");
    let symbols: Vec<char> = lines[0].chars().collect();
    assert_eq!(symbols[0], symbols[2]);
    assert!(symbols[1] > symbols[0], "{symbols:?}");
    let largest = series(vec![0.0, 1.0], vec![Some(f64::MAX), Some(f64::MIN_POSITIVE)]);
    let (_, factor) = Columns::of(&[&largest], 2).unwrap().by_factor(&[&largest], false);
    assert!(factor <= 1_001, "{factor}");
}

#[test]
fn a_unit_wider_than_the_terminal_leaves_room_for_the_curve() {
    let unit = "HISTEwAAAFsAAAAA".repeat(20);
    let long =
        Series { x_unit: unit.clone(), y_unit: unit, ..series(vec![0.0, 1.0], vec![None; 2]) };
    let style = Style { width: 40, colour: false, unicode: false };
    let lines = picture(&long, (0.5, "deletion"), style);
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:?}");
}
