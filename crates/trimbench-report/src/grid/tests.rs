use super::*;

fn style(width: usize) -> Style {
    Style { width, colour: false, unicode: false }
}

fn grid() -> Grid {
    let columns = vec![
        GridColumn::text("what"),
        GridColumn::number("how much"),
        GridColumn::close(""),
        GridColumn::number("n"),
    ];
    let mut grid = Grid::new(columns);
    let cells = |cells: [&str; 4]| cells.map(str::to_owned);
    grid.row(cells(["  the longest gap between writes", "12.5", "ms", "45000"]));
    grid.span(2, "said of it".to_owned());
    grid.row(cells(["short", "100", "us", "3"]));
    grid
}

#[test]
fn what_fits_stands_in_one_line_with_numbers_to_the_right() {
    let expected = [
        "what                              how much         n",
        "------------------------------------------------------------",
        "  the longest gap between writes      12.5 ms  45000",
        "  said of it",
        "short                                  100 us      3",
    ];
    assert_eq!(grid().render(style(60)), expected);
    assert_eq!(grid().natural_width(), 52);
}

#[test]
fn text_gives_way_before_numbers() {
    let expected = [
        "what                  how much         n",
        "----------------------------------------",
        "  the longest gap         12.5 ms  45000",
        "  between writes",
        "  said of it",
        "short                      100 us      3",
    ];
    assert_eq!(grid().render(style(40)), expected);
}

#[test]
fn numbers_are_broken_only_where_nothing_else_is_left() {
    let mut grid =
        Grid::new(vec![GridColumn::text("a"), GridColumn::number("b"), GridColumn::text("c")]);
    grid.row(["t".repeat(50), "9".repeat(30), "u".repeat(50)]);
    let lines = grid.render(style(40));
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:#?}");
    let text: String = lines.concat();
    for (symbol, count) in [('t', 50), ('9', 30), ('u', 50)] {
        assert_eq!(text.matches(symbol).count(), count, "nothing is lost");
    }
}

#[test]
fn a_number_is_broken_before_its_unit_and_not_within_its_digits() {
    let number = GridColumn::number;
    let columns = vec![
        GridColumn::text("latency"),
        number("p50"),
        number("p99"),
        number("p99.9"),
        number("n"),
    ];
    let mut grid = Grid::new(columns);
    let cells = ["in the steady state", "99.0 ms", "101.5 ms", "102.5 ms", "524,288"];
    grid.row(cells.map(str::to_owned));
    let expected = [
        "latency     p50     p99   p99.9        n",
        "----------------------------------------",
        "in the     99.0   101.5   102.5  524,288",
        "steady       ms      ms      ms",
        "state",
    ];
    assert_eq!(grid.render(style(40)), expected);
}
