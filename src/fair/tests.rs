//! Tests of the semaphore. They are not beside it, because its model includes that file.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::semaphore::Waiter;
use super::{Limits, Permit, Semaphore, Tenant, tenant};

/// All permits that these tenants get if they take turns. Returns how many each has.
fn fill(semaphore: &Semaphore, tenants: &[Tenant]) -> (Vec<usize>, Vec<Permit>) {
    let mut held = Vec::new();
    let mut counts = vec![0; tenants.len()];
    loop {
        let before = held.len();
        for (tenant, count) in tenants.iter().zip(&mut counts) {
            let permit = semaphore.try_acquire(*tenant);
            *count += usize::from(permit.is_some());
            held.extend(permit);
        }
        if held.len() == before {
            return (counts, held);
        }
    }
}

fn poll(waiter: &mut Waiter) -> Option<Permit> {
    match Pin::new(waiter).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(permit) => Some(permit),
        Poll::Pending => None,
    }
}

fn wait(semaphore: &Semaphore, number: i64) -> Waiter {
    let mut waiter = semaphore.request(tenant(number)).unwrap();
    assert!(poll(&mut waiter).is_none());
    waiter
}

#[test]
fn alone_an_organization_gets_half_of_the_permits_and_two_get_a_third_each() {
    for (permits, organizations, expected) in [
        (128, vec![1], vec![64]),
        (126, vec![1, 2], vec![42, 42]),
        (128, vec![1, 2, 3], vec![32, 32, 32]),
        (1, vec![1], vec![1]),
        (2, vec![1], vec![1]),
        (2, vec![1, 2], vec![1, 1]),
        (3, vec![1], vec![2]),
    ] {
        let organizations: Vec<_> = organizations.into_iter().map(tenant).collect();
        assert_eq!(fill(&Semaphore::new(permits), &organizations).0, expected, "{permits}, {organizations:?}");
    }
}

#[test]
fn an_organization_that_uses_all_it_can_get_leaves_some_to_each_that_comes_later() {
    let semaphore = Semaphore::new(128);
    let (heavy, held) = fill(&semaphore, &[tenant(1)]);
    let (second, more) = fill(&semaphore, &[tenant(2)]);
    let (third, rest) = fill(&semaphore, &[tenant(3)]);
    assert_eq!((heavy, second, third), (vec![64], vec![32], vec![16]));
    assert!(semaphore.try_acquire(None).is_some());
    // The others get first what the heavy one gives back.
    drop(held);
    assert!(semaphore.try_acquire(tenant(3)).is_some());
    drop((more, rest));
    assert_eq!(semaphore.free(), 128);
    assert_eq!(fill(&semaphore, &[tenant(1)]).0, [64]);
}

#[test]
fn the_program_gets_the_reserved_permit_and_all_that_organizations_leave() {
    let semaphore = Semaphore::with(Limits { reserved: 1, ..Limits::new(4) });
    let program = semaphore.try_acquire(None);
    let (counts, held) = fill(&semaphore, &[tenant(1), tenant(2), tenant(3)]);
    assert_eq!(counts, [1, 1, 1], "the program uses the permit that is reserved for it");
    drop((program, held));
    assert_eq!(fill(&semaphore, &[tenant(1)]).0, [2]);
    assert_eq!(fill(&semaphore, &[None]).0, [4]);
}

#[test]
fn one_organization_uses_all_permits_only_if_it_may() {
    let semaphore = Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(2) });
    let (counts, held) = fill(&semaphore, &[tenant(1)]);
    assert_eq!(counts, [2]);
    let mut waiters = [1, 1, 2].map(|number| wait(&semaphore, number));
    drop(held);
    let granted = waiters.each_mut().map(poll);
    assert_eq!(granted.each_ref().map(Option::is_some), [true, false, true], "they take turns");
}

#[test]
fn organizations_that_wait_take_turns() {
    let semaphore = Semaphore::new(3);
    let held = [1, 2, 3].map(|number| semaphore.try_acquire(tenant(number)).unwrap());
    let mut waiters = [4, 4, 4, 5, 6].map(|number| wait(&semaphore, number));
    let mut served = Vec::new();
    for permit in held {
        drop(permit);
        let granted = waiters.iter_mut().enumerate().find_map(|(index, waiter)| Some((index, poll(waiter)?)));
        served.extend(granted);
    }
    assert_eq!(served.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 3, 4]);
}

#[test]
fn an_organization_need_not_wait_behind_a_thousand_of_another() {
    let semaphore = Semaphore::new(4);
    let (_, held) = fill(&semaphore, &[tenant(1)]);
    let mut heavy: Vec<_> = (0..1000).map(|_| wait(&semaphore, 1)).collect();
    let light = semaphore.try_acquire(tenant(2)).expect("two are left");
    let mut second = wait(&semaphore, 2);
    drop(light);
    assert!(poll(&mut second).is_some(), "it comes before those that wait longer");
    // The control: within one organization it is first come, first served.
    let mut own = wait(&semaphore, 1);
    drop(held);
    assert!(poll(&mut heavy[0]).is_some());
    assert!(poll(&mut own).is_none());
}

#[test]
fn a_waiter_that_gives_up_at_the_moment_of_the_grant_passes_the_permit_on() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire(tenant(1)).unwrap();
    drop(wait(&semaphore, 2));
    assert_eq!(semaphore.waiting(), 0);
    let (granted, mut next) = (wait(&semaphore, 3), wait(&semaphore, 4));
    drop(held);
    assert!(poll(&mut next).is_none(), "the permit is that of the other waiter");
    drop(granted);
    assert!(poll(&mut next).is_some());
    assert_eq!(semaphore.free(), 1);
    // An immediate grant is passed on in the same way.
    let immediate = semaphore.request(tenant(5)).unwrap();
    assert_eq!(semaphore.free(), 0);
    drop(immediate);
    assert_eq!(semaphore.free(), 1);
}

#[test]
fn a_thread_waits_until_a_permit_is_free_and_no_longer_than_it_may() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire(tenant(1)).unwrap();
    assert!(semaphore.acquire(tenant(2), Duration::ZERO, || false).is_none());
    assert!(semaphore.acquire(tenant(2), Duration::MAX, || true).is_none(), "it is cancelled");
    let (sender, order) = mpsc::channel();
    std::thread::scope(|scope| {
        for (waiting, number) in [1, 1, 2].into_iter().enumerate() {
            let (semaphore, sender) = (semaphore.clone(), sender.clone());
            let waiters = semaphore.clone();
            scope.spawn(move || {
                let _permit = semaphore.acquire(tenant(number), Duration::MAX, || false).unwrap();
                sender.send(number).unwrap();
            });
            while waiters.waiting() <= waiting {
                std::thread::yield_now();
            }
        }
        drop(held);
        assert_eq!([(); 3].map(|()| order.recv().unwrap()), [1, 2, 1]);
    });
    assert_eq!((semaphore.free(), semaphore.waiting()), (1, 0));
}

#[test]
fn waiters_past_the_limit_of_one_organization_or_of_all_are_refused_at_once() {
    let semaphore = Semaphore::with(Limits { max_waiting_of_one: 2, max_waiting: 3, ..Limits::new(1) });
    let _held = semaphore.try_acquire(None).unwrap();
    let _waiters = [1, 1].map(|number| wait(&semaphore, number));
    assert!(semaphore.request(tenant(1)).is_none());
    let other = wait(&semaphore, 2);
    assert!(semaphore.request(tenant(3)).is_none());
    drop(other);
    assert!(semaphore.request(tenant(3)).is_some());
}
