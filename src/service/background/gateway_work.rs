//! The work that asks the payment gateway: a few kinds for what it is asked, each for what the gateway has recorded, and for
//! what an earlier version has recorded without a gateway.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::model::operation::maintenance::MaintenanceReport;
use crate::payment::GatewayCalls;
use crate::payments::Payments;
use crate::payments::gateway_work::Progress;
use crate::rules::money::gateway_choice::{CHECK, CHECKOUT, REFUND, work_kinds};
use crate::rules::money::{checkout_schedule, payment_check, refund_share};
use crate::sales::orders::refund_attempts;
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::store::work::ClaimedWork;
use crate::work::background_threads::MaintenanceGuard;
use crate::work::queues::{Kind, Outcome, Queue, Queues, Room, Schedule};
use crate::work::workers;

/// How many calls of a kind run at the same time at most.
const MAX_CALLS: usize = 8;

/// What a gateway is asked for.
struct Question {
    asked_for: &'static str,
    /// Longer than its calls to the gateway.
    lease: Duration,
    latest_due: Duration,
    /// Whether the gateway is asked this.
    can_answer: fn(&GatewayCalls) -> bool,
    ask: fn(&Payments, &GatewayCalls, &ClaimedWork) -> Result<Progress>,
    count: fn(&mut MaintenanceReport, usize),
}

const QUESTIONS: [Question; 3] = [
    Question {
        asked_for: CHECKOUT,
        lease: checkout_schedule::ATTEMPT_LEASE,
        latest_due: checkout_schedule::LATEST_DUE,
        can_answer: |_| true,
        ask: Payments::attempt_checkout,
        count: |report, answered| report.answered_checkouts += answered,
    },
    Question {
        asked_for: REFUND,
        lease: refund_attempts::CLAIM,
        latest_due: refund_share::LATEST_DUE,
        can_answer: GatewayCalls::can_refund,
        ask: Payments::attempt_refund,
        count: |report, answered| report.answered_refunds += answered,
    },
    Question {
        asked_for: CHECK,
        lease: Duration::from_mins(1),
        latest_due: payment_check::LATEST_DUE,
        can_answer: |_| true,
        ask: Payments::check_payment,
        count: |report, answered| report.checked_payments += answered,
    },
];

impl TicketingService {
    /// What this process asks its gateway later.
    pub(in crate::service) fn gateway_queues(&self) -> &Queues {
        self.inner.gateway_queues.get_or_init(|| {
            let Some(gateway) = &self.payments().gateway else { return Vec::new() };
            let mut queues = Vec::new();
            for question in &QUESTIONS {
                for name in work_kinds(question.asked_for, gateway.key()) {
                    let kind = GatewayWork { name, question, gateway: gateway.clone(), service: self.downgrade() };
                    queues.push(Arc::new(Queue::new(Box::new(kind))));
                }
            }
            queues
        })
    }

    /// Starts the thread that looks for what the gateway is to be asked, and for rows to be changed.
    pub(in crate::service) fn start_gateway_work(&self, guard: &mut MaintenanceGuard) -> Result<()> {
        let queues: Queues = self.row_queues().iter().chain(self.gateway_queues()).cloned().collect();
        let (writes, store) = (Arc::downgrade(&self.inner.writes), Some(&**self.store_in_operation()));
        guard.start("ticketing-work-finder", store, move |stop| workers::run(&writes, &queues, &stop))
    }
}

/// Work that asks the gateway.
struct GatewayWork {
    name: String,
    question: &'static Question,
    gateway: GatewayCalls,
    service: WeakTicketingService,
}

impl Kind for GatewayWork {
    fn name(&self) -> &str {
        &self.name
    }

    fn schedule(&self) -> Schedule {
        let Question { lease, latest_due, .. } = *self.question;
        Schedule { lease, max_attempts: i64::MAX, latest_due }
    }

    /// Half as many calls as are free for the background work of an organization, so that kinds that run at the same time
    /// leave some to each other. An organization leaves some of them to the others.
    fn room(&self) -> Room {
        let can_answer = (self.question.can_answer)(&self.gateway);
        let attempts = if can_answer { self.gateway.free_in_background().div_ceil(2).min(MAX_CALLS) } else { 0 };
        Room { attempts, of_organization: attempts.div_ceil(2) }
    }

    fn count(&self, report: &mut MaintenanceReport, answered: usize) {
        (self.question.count)(report, answered);
    }

    fn attempt(&self, claimed: &ClaimedWork) -> Outcome {
        let Some(service) = self.service.upgrade() else { return Outcome::NotNow };
        match (self.question.ask)(service.payments(), &self.gateway, claimed) {
            Ok(Progress::Busy) => Outcome::NotNow,
            Ok(progress) => Outcome::Recorded { answered: progress == Progress::Answered },
            Err(error) if error.concerns_all_rows() => Outcome::Interrupted(error),
            Err(error) => Outcome::Damaged(error),
        }
    }
}
