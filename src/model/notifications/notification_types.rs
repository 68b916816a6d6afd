//! The types of notifications, as one list. The enums, their texts, the JSON, the OpenAPI document and the topics of
//! functions of the program follow from it.
//!
//! To add a type:
//! 1. Add a line to the list at the end of this file. The first line of its doc comment is its title in the OpenAPI
//!    document.
//! 2. Declare its data: in `notification_data` if webhooks get it, else in `handler_notification`.
//! 3. Report it with `outbox::enqueue`, or with `handlers::enqueue` if webhooks do not get it, in the function of
//!    `sales` that makes the change.
//! 4. If webhooks get it, name the row that it reports in `find_subject` of `store/check/webhooks.rs`.
//! 5. Name it in the guide `webhooks`.

use serde::ser::SerializeStruct;

use super::handler_notification::{OrderCreated, OrderExpired, RefundNotification, TicketCancelled};
use super::notification_data::{
    DisputeNotification, OrderCancelled, OrderCompleted, PaymentReturned, RefundFailed, RefundSucceeded,
    TicketCheckedIn, TicketIssued,
};
use crate::enums::text_enum::text_enum;
use crate::model::values::amounts;

/// Declares the enums of the types of notifications. A type has a name, the type of its data, and its text; one of
/// webhooks has also its text in deliveries. Data with amounts has the attribute that reads them in their currency.
macro_rules! notification_types {
    (
        webhooks {
            $(
                #[doc = $title:literal]
                $(#[doc = $doc:literal])*
                $name:ident($(#[$amounts:meta])? $data:ident) = $text:literal, $delivery_text:literal;
            )+
        }
        program {
            $(
                $(#[doc = $other_doc:literal])+
                $other_name:ident($(#[$other_amounts:meta])? $other_data:ident) = $other_text:literal;
            )+
        }
    ) => {
        text_enum! {
            /// The type of a notification.
            pub enum EventType {
                $(
                    #[doc = $title]
                    $(#[doc = $doc])*
                    $name = $text,
                )+
            }
        }

        #[cfg(feature = "server")]
        impl EventType {
            /// What a notification of this type says: a sentence without a full stop.
            pub(crate) fn title(self) -> &'static str {
                let sentence = match self {
                    $(Self::$name => $title,)+
                };
                sentence.trim().trim_end_matches('.')
            }

            /// The schema of the data of a notification.
            pub(crate) fn data_schema(self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                match self {
                    $(Self::$name => generator.subschema_for::<$data>(),)+
                }
            }
        }

        text_enum! {
            /// The type of a notification, as spelled in deliveries.
            pub enum DeliveryEventType {
                $(
                    #[doc = concat!("`", $text, "`")]
                    $name = $delivery_text,
                )+
            }
        }

        impl From<EventType> for DeliveryEventType {
            fn from(event_type: EventType) -> Self {
                match event_type {
                    $(EventType::$name => Self::$name,)+
                }
            }
        }

        impl From<DeliveryEventType> for EventType {
            fn from(event_type: DeliveryEventType) -> Self {
                match event_type {
                    $(DeliveryEventType::$name => Self::$name,)+
                }
            }
        }

        text_enum! {
            /// The topic of a notification: the kind of change that it reports. Those of
            /// [`EventType`](crate::webhook::EventType) are also sent to webhooks.
            pub enum NotificationTopic {
                $(
                    #[doc = $title]
                    $(#[doc = $doc])*
                    $name = $text,
                )+
                $(
                    $(#[doc = $other_doc])+
                    $other_name = $other_text,
                )+
            }
        }

        /// What happened, and the data of the notification.
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(tag = "type", content = "data")]
        #[non_exhaustive]
        pub enum NotificationData {
            $(
                #[doc = $title]
                $(#[doc = $doc])*
                #[serde(rename = $text)]
                $name($(#[$amounts])? $data),
            )+
        }

        impl NotificationData {
            /// The type of the notification.
            #[must_use]
            pub const fn event_type(&self) -> EventType {
                match self {
                    $(Self::$name(_) => EventType::$name,)+
                }
            }

            /// Writes the data as a field of the notification.
            pub(in crate::model) fn serialize_as_field<S: SerializeStruct>(
                &self,
                field: &'static str,
                body: &mut S,
            ) -> Result<(), S::Error> {
                match self {
                    $(Self::$name(data) => body.serialize_field(field, data),)+
                }
            }
        }

        /// The details of a notification inside the program: what happened, and the data.
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "topic", content = "data")]
        #[non_exhaustive]
        pub enum NotificationDetails {
            $(
                #[doc = $title]
                $(#[doc = $doc])*
                #[serde(rename = $text)]
                $name($(#[$amounts])? $data),
            )+
            $(
                $(#[doc = $other_doc])+
                #[serde(rename = $other_text)]
                $other_name($(#[$other_amounts])? $other_data),
            )+
        }

        impl NotificationDetails {
            /// The topic.
            #[must_use]
            pub const fn topic(&self) -> NotificationTopic {
                match self {
                    $(Self::$name(_) => NotificationTopic::$name,)+
                    $(Self::$other_name(_) => NotificationTopic::$other_name,)+
                }
            }
        }

        impl From<NotificationData> for NotificationDetails {
            fn from(data: NotificationData) -> Self {
                match data {
                    $(NotificationData::$name(data) => Self::$name(data),)+
                }
            }
        }
    };
}

notification_types! {
    webhooks {
        /// An order was completed.
        OrderCompleted(#[serde(deserialize_with = "amounts::in_currency")] OrderCompleted)
            = "order.completed", "ORDER_COMPLETED";
        /// An order was cancelled.
        OrderCancelled(OrderCancelled) = "order.cancelled", "ORDER_CANCELLED";
        /// A ticket was issued.
        TicketIssued(TicketIssued) = "ticket.issued", "TICKET_ISSUED";
        /// A ticket was checked in.
        TicketCheckedIn(TicketCheckedIn) = "ticket.checked_in", "TICKET_CHECKED_IN";
        /// A refund was made.
        ///
        /// The gateway has accepted it, or has reported one that somebody made in the account at the gateway. It may
        /// still fail: then `refund.failed` follows.
        RefundSucceeded(#[serde(deserialize_with = "amounts::in_currency")] RefundSucceeded)
            = "refund.succeeded", "REFUND_SUCCEEDED";
        /// A refund was not made, or has failed after it was made.
        ///
        /// The gateway refused it, reported that it failed, or cannot refund.
        RefundFailed(#[serde(deserialize_with = "amounts::in_currency")] RefundFailed)
            = "refund.failed", "REFUND_FAILED";
        /// A customer's bank disputes a payment.
        ///
        /// The order and its tickets stay as they are. A dispute that is decided when the gateway first reports it has
        /// only `dispute.closed`.
        DisputeOpened(#[serde(deserialize_with = "amounts::in_currency")] DisputeNotification)
            = "dispute.opened", "DISPUTE_OPENED";
        /// A dispute was decided.
        ///
        /// The status is WON or LOST. If the bank changes its decision, there is another notification.
        DisputeClosed(#[serde(deserialize_with = "amounts::in_currency")] DisputeNotification)
            = "dispute.closed", "DISPUTE_CLOSED";
        /// A payment completes no order and goes back to the customer.
        ///
        /// It came too late, was a second one, or had another amount or currency. `refund.succeeded` or
        /// `refund.failed` tells the outcome of its refund.
        PaymentReturned(#[serde(deserialize_with = "amounts::in_currency")] PaymentReturned)
            = "payment.returned", "PAYMENT_RETURNED";
    }
    program {
        /// An order was created. A free order is completed at the same time, and has both notifications.
        OrderCreated(#[serde(deserialize_with = "amounts::in_currency")] OrderCreated) = "order.created";
        /// An order was marked as expired, because it was not paid in time. The maintenance does this within a second,
        /// if it runs.
        OrderExpired(OrderExpired) = "order.expired";
        /// A payment is to be refunded through the gateway.
        RefundDue(#[serde(deserialize_with = "amounts::in_currency")] RefundNotification) = "refund.due";
        /// A payment was not refunded, because the gateway refused to or cannot. Return the money manually.
        /// `refund.failed` reports these refunds too, and those whose money need not be returned manually.
        RefundRefused(#[serde(deserialize_with = "amounts::in_currency")] RefundNotification) = "refund.refused";
        /// A ticket was cancelled, by itself or with its order.
        TicketCancelled(TicketCancelled) = "ticket.cancelled";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_spell_a_type_in_upper_case_with_an_underscore_for_the_dot() {
        for event_type in EventType::ALL {
            let expected = event_type.as_str().to_uppercase().replace('.', "_");
            assert_eq!(DeliveryEventType::from(*event_type).as_str(), expected);
        }
    }
}
