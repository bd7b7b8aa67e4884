use super::AlignedBuffer;

#[test]
fn this_machine_says_how_much_memory_it_has() {
    let available = super::available_memory().unwrap();
    assert!(available > trimbench_core::Bytes::mib(1), "{available}");
}

#[test]
fn an_aligned_buffer_has_its_length_at_a_multiple_of_4_kib() {
    for length in [1, 4_095, 4_096, 1 << 20] {
        let mut buffer = AlignedBuffer::new(length);
        assert_eq!((buffer.len(), buffer.as_ptr().addr() % 4_096), (length, 0));
        buffer.fill(1);
        assert!(buffer.iter().all(|byte| *byte == 1));
    }
}
