use super::*;

/// How long it waits.
fn waited(span: Nanos, interrupt: &Interrupt) -> Nanos {
    let clock = MonotonicClock::start();
    let begin = clock.now();
    settle(span, interrupt);
    clock.now() - begin
}

#[test]
fn a_wait_is_as_long_as_wished_and_ends_when_the_user_wants_to_stop() {
    let interrupt = Interrupt::default();
    interrupt.request();
    assert!(waited(Nanos::from_secs(3), &interrupt) < Nanos::from_secs(1));
    // More than one look, and not a whole number of them.
    let span = Nanos::from_millis(120);
    let found = waited(span, &Interrupt::default());
    assert!(found >= span && found < Nanos::from_secs(3), "{found:?}");
    let (interrupt, stopped) = (Interrupt::default(), Nanos::from_secs(60));
    let user = interrupt.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            settle(Nanos::from_millis(20), &Interrupt::default());
            user.request();
        });
        assert!(waited(stopped, &interrupt) < stopped);
    });
}

#[test]
fn root_is_advised_where_a_permission_is_missing_and_nowhere_else() {
    for denied in [libc::EPERM, libc::EACCES] {
        assert!(root_advice(Errno(denied)).is_some_and(|advice| advice.contains("root")));
    }
    for other in [0, libc::ENOENT, libc::EBUSY, libc::ENOSPC] {
        assert_eq!(root_advice(Errno(other)), None, "{other}");
    }
}
