use serde_json::{Value, json};

use super::read;
use crate::acceptance::planted::{Planted, failing};

#[test]
fn a_picture_that_is_missing_blank_or_large_does_not_hold() {
    let found = |change: fn(&mut Vec<Value>)| {
        let each = |number: usize| {
            ["light", "dark"].map(|scheme| {
                let file = format!("{number}-{scheme}.webp");
                json!({ "file": file, "bytes": 40_000, "colours": 400 })
            })
        };
        let mut pictures: Vec<Value> = (0..16).flat_map(each).collect();
        change(&mut pictures);
        let planted = Planted::new();
        planted.capture("look", 0, &json!({ "pictures": pictures }).to_string());
        let findings = read(&planted.raw()).unwrap();
        failing(&findings).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(|_| ()), [""; 0]);
    assert_eq!(found(|pictures| drop(pictures.pop())), ["sections in dark"]);
    assert_eq!(found(|pictures| drop(pictures.remove(0))), ["sections in light"]);
    assert_eq!(found(|pictures| pictures[3]["bytes"] = 70_000.into()), ["the largest picture"]);
    let blank = found(|pictures| pictures[3]["colours"] = 3.into());
    assert_eq!(blank, ["colours of the picture with the fewest"]);
}
