use super::*;

#[test]
fn typing_errors_find_their_name_and_other_words_do_not() {
    let known = ["sizes", "window", "repetitions"];
    assert_eq!(nearest("sizse", known), Some("sizes"));
    assert_eq!(nearest("repetition", known), Some("repetitions"));
    assert_eq!(nearest("colour", known), None);
}
