//! The pictures that were fetched, and those that could not be.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::picture::PictureFile;
use crate::model::values::id::OrganizationId;

/// How long a picture is used before it is fetched again.
const AGE: Duration = Duration::from_hours(1);
/// How long a picture is still used if it cannot be fetched again.
const MAX_AGE: Duration = Duration::from_hours(24);
/// How long a picture is not tried again after a failure. The pause doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_mins(1);
const MAX_PAUSE: Duration = Duration::from_hours(1);

/// The pictures that are remembered, including those that could not be fetched.
const MAX_PICTURES: usize = 2048;

/// A URL of an organization. Organizations do not share pictures: none finds out what another one uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PictureKey {
    pub(super) organization: OrganizationId,
    url: [u8; 32],
}

impl PictureKey {
    pub(super) fn new(organization: OrganizationId, url: &str) -> Self {
        Self { organization, url: Sha256::digest(url).into() }
    }
}

/// What is known of a picture.
#[derive(Debug, Clone)]
pub(super) enum Known {
    /// The known picture, or `None` if there is no picture. Nothing is fetched.
    Now(Option<PictureFile>),
    /// The picture that is known so far, if there is one. It should be fetched.
    Due(Option<PictureFile>),
}

impl Known {
    pub(super) fn picture(self) -> Option<PictureFile> {
        let (Self::Now(picture) | Self::Due(picture)) = self;
        picture
    }
}

#[derive(Debug)]
struct Entry {
    /// The picture, and when it was fetched.
    picture: Option<(PictureFile, Duration)>,
    next_try: Duration,
    /// How often it could not be fetched since it was fetched last.
    failures: u32,
    /// Counts up with each use.
    used: u64,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.picture.as_ref().map_or(0, |(picture, _)| picture.file.len())
    }
}

/// Pictures by organization and URL, bounded in number and bytes. The organization that uses most makes room for others.
#[derive(Debug)]
pub(super) struct PictureCache {
    entries: HashMap<PictureKey, Entry>,
    uses: u64,
    /// The most bytes of the files.
    max_bytes: usize,
}

impl PictureCache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { entries: HashMap::new(), uses: 0, max_bytes }
    }

    pub(super) fn look_up(&mut self, key: &PictureKey, now: Duration) -> Known {
        self.uses += 1;
        let Some(entry) = self.entries.get_mut(key) else { return Known::Due(None) };
        entry.used = self.uses;
        entry.picture.take_if(|(_, fetched)| now.saturating_sub(*fetched) >= MAX_AGE);
        let picture = entry.picture.as_ref().map(|(picture, _)| picture.clone());
        if now < entry.next_try { Known::Now(picture) } else { Known::Due(picture) }
    }

    pub(super) fn fetched(&mut self, key: PictureKey, picture: PictureFile, now: Duration) {
        let used = self.uses;
        self.entries.insert(key, Entry { picture: Some((picture, now)), next_try: now + AGE, failures: 0, used });
        self.make_room();
    }

    /// Remembers that a picture could not be fetched.
    pub(super) fn failed(&mut self, key: PictureKey, now: Duration) {
        let used = self.uses;
        let entry = self.entries.entry(key).or_insert(Entry { picture: None, next_try: now, failures: 0, used });
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(entry.failures)).min(MAX_PAUSE);
        entry.next_try = now + pause;
        entry.failures = entry.failures.saturating_add(1);
        self.make_room();
    }

    /// Whether a fetch of this picture is likely to fail: because the last one has, or for a picture that was never fetched,
    /// because those of the organization fail mostly. A single failure says nothing about its other pictures.
    pub(super) fn may_fail(&self, key: &PictureKey) -> bool {
        if let Some(entry) = self.entries.get(key) {
            return entry.failures > 0;
        }
        let of_organization = self.entries.iter().filter(|(other, _)| other.organization == key.organization);
        let (failed, fetched): (Vec<_>, Vec<_>) = of_organization.partition(|(_, entry)| entry.failures > 0);
        failed.len() > fetched.len() + 1
    }

    fn make_room(&mut self) {
        while self.entries.len() > MAX_PICTURES && self.evict(|_| 1) {}
        while self.entries.values().map(Entry::bytes).sum::<usize>() > self.max_bytes && self.evict(Entry::bytes) {}
    }

    /// Forgets what was not used for longest by the organization that has most, by this measure.
    fn evict(&mut self, measure: impl Fn(&Entry) -> usize) -> bool {
        let mut totals: HashMap<OrganizationId, usize> = HashMap::new();
        for (key, entry) in &self.entries {
            *totals.entry(key.organization).or_default() += measure(entry);
        }
        let Some((largest, _)) = totals.into_iter().max_by_key(|(organization, total)| (*total, *organization)) else {
            return false;
        };
        let of_largest = self.entries.iter().filter(|(key, entry)| key.organization == largest && measure(entry) > 0);
        let Some(oldest) = of_largest.min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key) else { return false };
        self.entries.remove(&oldest).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_BYTES: usize = 1024 * 1024;

    fn key(organization: i64, url: usize) -> PictureKey {
        PictureKey::new(OrganizationId::from_raw(organization), &url.to_string())
    }

    fn minutes(number: u64) -> Duration {
        Duration::from_mins(number)
    }

    /// Whether the picture is due, and the first byte of the one that is known.
    fn state(cache: &mut PictureCache, key: PictureKey, now: Duration) -> (bool, Option<u8>) {
        let known = cache.look_up(&key, now);
        (matches!(known, Known::Due(_)), known.picture().map(|picture| picture.file[0]))
    }

    #[test]
    fn the_other_pictures_of_an_organization_may_fail_if_two_more_have_failed_than_were_fetched() {
        let mut cache = PictureCache::new(MAX_BYTES);
        let mut after = |failed: &[usize], fetched: &[usize]| {
            for url in failed {
                cache.failed(key(1, *url), minutes(0));
            }
            for url in fetched {
                cache.fetched(key(1, *url), PictureFile::new(vec![7]), minutes(0));
            }
            (cache.may_fail(&key(1, 0)), cache.may_fail(&key(2, 0)))
        };
        assert_eq!(after(&[], &[]), (false, false));
        assert_eq!(after(&[1], &[]), (false, false), "a single failure");
        assert_eq!(after(&[2], &[]), (true, false));
        assert_eq!(after(&[], &[3]), (false, false));
        assert_eq!(after(&[4], &[]), (true, false));
        assert!(cache.may_fail(&key(1, 1)) && !cache.may_fail(&key(1, 3)), "this one's last attempt");
    }

    #[test]
    fn an_organization_with_more_pictures_than_are_kept_makes_room_for_itself() {
        let mut cache = PictureCache::new(MAX_BYTES);
        let large = || PictureFile::new(vec![7; MAX_BYTES / 64]);
        cache.fetched(key(1, 0), large(), minutes(0));
        cache.failed(key(1, 1), minutes(0));
        for url in 0..100 {
            cache.fetched(key(2, url), large(), minutes(0));
            // The newest is used by nobody else.
            cache.look_up(&key(2, url), minutes(0));
        }
        let kept = (0..100).filter(|url| !state(&mut cache, key(2, *url), minutes(0)).0).collect::<Vec<_>>();
        assert_eq!(kept, (37..100).collect::<Vec<_>>());
        for url in 0..MAX_PICTURES + 100 {
            cache.failed(key(3, url), minutes(0));
        }
        assert_eq!(cache.entries.len(), MAX_PICTURES);
        assert_eq!(state(&mut cache, key(1, 0), minutes(0)), (false, Some(7)));
        assert_eq!(state(&mut cache, key(1, 1), minutes(0)), (false, None));
    }
}
