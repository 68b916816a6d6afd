//! Values that a transaction reads once and uses several times, also in several jobs. They are dropped with it.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::model::values::id::OrganizationId;

/// Values by their type and organization.
#[derive(Default)]
pub(super) struct TransactionCache(RefCell<HashMap<(TypeId, OrganizationId), Rc<dyn Any>>>);

impl TransactionCache {
    pub(super) fn get<T: 'static>(&self, organization: OrganizationId) -> Option<Rc<T>> {
        let value = Rc::clone(self.0.borrow().get(&(TypeId::of::<T>(), organization))?);
        value.downcast().ok()
    }

    pub(super) fn insert<T: 'static>(&self, organization: OrganizationId, value: Rc<T>) {
        self.0.borrow_mut().insert((TypeId::of::<T>(), organization), value);
    }

    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
