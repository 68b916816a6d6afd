{
    // What the doc examples begin with: a store in a folder of its own, a service with the sandbox gateway, and a caller.
    let folder = tempfile::tempdir()?;
    let service = ticketing::TicketingService::builder(folder.path().join("ticketing.db")).sandbox_gateway().open()?;
    let organization = service.create_organization(Default::default())?;
    let caller = service.act_for(organization.id)?;
    (folder, service, caller)
}
