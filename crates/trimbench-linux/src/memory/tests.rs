#[test]
fn this_machine_says_how_much_memory_it_has() {
    let available = super::available_memory().unwrap();
    assert!(available > trimbench_core::Bytes::mib(1), "{available}");
}
