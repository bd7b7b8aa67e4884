use trimbench_engine::MethodDefinition as _;
use trimbench_results::{Series, Step};

use super::super::Kernels;
use super::super::steps::KernelsWindowStep;
use super::COLUMNS;
use crate::testing::{charts, curve, find};

/// Of three systems the second does worst; the third lacks a figure.
#[test]
fn a_cell_shows_its_value_and_how_many_do_better() {
    let of = |system: &str| Step::new(format!("{system}-deletion"), "deletion");
    let steps = ["ext4", "xfs", "none"].map(of).into();
    let figures = [
        ("longest-read-under-ext4", 2.0, None),
        ("longest-read-under-xfs", 9.87, None),
        ("longest-read-under-none", 2.0, None),
        ("lost-under-ext4", 99.0, None),
        ("lost-under-xfs", 0.0, None),
    ];
    let charts = charts(&Kernels::INFO, steps, &figures);
    let chart = find(&charts, "matrix");
    assert_eq!(chart.x.categories, ["ext4", "xfs", "none"]);
    assert_eq!(chart.y.categories.len(), COLUMNS.len());
    let cells = curve(chart, "systems");
    let (labels, shares) = (cells.labels.as_ref().unwrap(), cells.z.as_ref().unwrap());
    let column = |key: &str| COLUMNS.iter().position(|column| column.key == key).unwrap();
    let row = |key: &str| {
        let at = 3 * column(key);
        assert_eq!(cells.x[at..at + 3], [0.0, 1.0, 2.0]);
        let place = column(key) as f64;
        (place, &cells.y[at..at + 3], &labels[at..at + 3], &shares[at..at + 3])
    };
    let (place, y, texts, shares) = row("longest-read");
    assert_eq!(y, [Some(place); 3]);
    assert_eq!(texts, ["2", "9.87", "2"]);
    assert_eq!(shares, [Some(0.0), Some(100.0), Some(0.0)]);
    let (place, y, texts, shares) = row("lost");
    assert_eq!(y, [Some(place), Some(place), None]);
    assert_eq!((texts[2].as_str(), shares), ("", &[Some(100.0), Some(0.0), None][..]));
}

#[test]
fn the_longest_reads_are_a_line_for_each_system() {
    let read_ms_max = Series::new("s", "ms", vec![0.05, 0.1], vec![Some(0.1), Some(42.0)]);
    let window = KernelsWindowStep { read_ms_max, ..KernelsWindowStep::default() };
    let steps = vec![Step::of("xfs-deletion", "deletion", &window)];
    let charts = charts(&Kernels::INFO, steps, &[]);
    assert_eq!(curve(find(&charts, "reads"), "xfs").y, [Some(0.1), Some(42.0)]);
}
