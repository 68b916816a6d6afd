{
    // What the doc examples about webhooks begin with: the shop, and an endpoint that hears of completed orders.
    use ticketing::{CreateWebhook, NotificationType};
    let (folder, service, caller) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/example_shop.rs"));
    let new = CreateWebhook::new("https://example.com/hook", [NotificationType::OrderCompleted]);
    let created = service.create_webhook(&caller, new)?;
    (folder, service, caller, created)
}
