//! Organizations and keys, which have no route: whoever can open the file may manage them.

use std::path::Path;

use serde_json::{Value, json};
use ticketing::TicketingService;

use crate::failure::Failure;
use crate::options::Task;

/// Does one task and answers with what it came to.
pub(crate) fn perform(database: &Path, task: Task) -> Result<Value, Failure> {
    let makes_the_file = matches!(task, Task::CreateOrganization(_));
    if !makes_the_file {
        must_be_there(database)?;
    }
    let service = TicketingService::builder(database).readers(1).open()?;
    Ok(match task {
        Task::CreateOrganization(organization) => json!(service.create_organization(organization)?),
        Task::ListOrganizations => json!({ "organizations": service.list_organizations()? }),
        Task::CreateKey { organization, key } => {
            let created = service.create_api_key(there(&organization, "organization")?, key)?;
            json!({ "id": created.api_key.id, "key": created.key, "organizationId": created.api_key.organization_id,
                    "name": created.api_key.name, "scopes": created.api_key.scopes,
                    "expiresAt": created.api_key.expires_at })
        }
        Task::ListKeys { organization } => {
            json!({ "keys": service.list_api_keys(there(&organization, "organization")?)? })
        }
        Task::RevokeKey { key } => json!(service.revoke_api_key(there(&key, "API key")?)?),
    })
}

/// Only the server and `create-organization` make a database.
pub(crate) fn must_be_there(database: &Path) -> Result<(), Failure> {
    if database.exists() {
        return Ok(());
    }
    Err(Failure::Run(format!("there is no database at {}", database.display())))
}

/// Reads an id. A text that is none names nothing that is there.
fn there<T: std::str::FromStr>(id: &str, what: &str) -> Result<T, Failure> {
    id.parse().map_err(|_| Failure::Run(format!("there is no such {what}: {id:?}")))
}
