//! The command line of the program: options, commands, output and exit status.
#![cfg(all(feature = "program", unix))]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::program::{Server, finish, has_curl, program, text};
use crate::common::{Database, unavailable};
use serde_json::Value;
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::order::{ListOrders, OrderStatus};
use ticketing::organization::Scope;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, TicketingService, Timestamp};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Returns the names of the files in a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Runs a command that succeeds and returns the JSON object that it prints.
fn json_output(folder: &Path, arguments: &[&str]) -> Value {
    let output = finish(&mut program(folder, arguments));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 1, "{arguments:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(value.is_object(), "{arguments:?}");
    value
}

/// Runs a command that fails with `status` and returns the line that it prints to standard error.
fn error_line(command: &mut Command, status: i32) -> String {
    let output = finish(command);
    let line = text(&output.stderr).strip_suffix('\n').unwrap_or_default().to_owned();
    assert_eq!(output.status.code(), Some(status), "{command:?}: {line}");
    assert!(!line.is_empty() && !line.contains('\n'), "{command:?}: {line:?}");
    assert!(output.stdout.is_empty(), "{command:?}");
    line
}

#[test]
fn the_first_start_prints_organization_key_address_and_a_curl_command() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.lines.len(), 7, "{:?}", server.lines);
    assert!(server.lines[0].starts_with("Warning: payments go through the sandbox"));
    assert!(server.lines[1].starts_with("Organization: org_"));
    assert!(server.lines[2].starts_with("API key: tk_"));
    assert!(server.lines[3].starts_with("Listening on http://127.0.0.1:"));
    assert!(!server.address().ends_with(":0"));
    let links = server.lines[3..6].iter().map(|line| line.split("http://").nth(1).expect(line));
    let links: Vec<_> = links.map(|link| link.split(',').next().expect(link)).collect();
    assert_eq!(links, ["", "/docs", "/door/"].map(|path| format!("{}{path}", server.address())));
    for link in links {
        let path = link.strip_prefix(server.address()).expect(link);
        let path = if path.is_empty() { "/" } else { path };
        let (status, _) = server.send_with("GET", path, "", "Accept: text/html\r\n", "");
        assert_eq!(status, 200, "{link}");
    }
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    assert!(folder.path().join("ticketing.db").exists());
}

#[test]
fn each_start_with_the_sandbox_warns_that_it_takes_no_money() {
    let folder = folder();
    let log = folder.path().join("log");
    let warns = |arguments: &[&str], variable: Option<&str>| {
        let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
        command.args(arguments).stderr(std::fs::File::create(&log).unwrap());
        command.envs(variable.map(|value| ("TICKETING_SANDBOX", value)));
        let server = Server::start_program(&mut command);
        let printed = server.lines.iter().filter(|line| line.contains("sandbox, which takes no money")).count();
        server.stop("TERM");
        let log = std::fs::read_to_string(&log).unwrap();
        let logged =
            |level| log.lines().filter(|line| line.contains(level) && line.contains("which takes no money")).count();
        (printed, logged("WARN"), logged("INFO"))
    };
    for (arguments, variable) in [(&[][..], None), (&[], None), (&[], Some("false"))] {
        assert_eq!(warns(arguments, variable), (1, 1, 0), "{arguments:?} {variable:?}");
    }
    for (arguments, variable) in [(&["--sandbox"][..], None), (&[], Some("true"))] {
        assert_eq!(warns(arguments, variable), (1, 0, 1), "{arguments:?} {variable:?}: it is meant");
    }
    let mut command = program(folder.path(), &[]);
    let error = error_line(command.env("TICKETING_SANDBOX", "maybe"), 2);
    assert_eq!(error, "invalid value \"maybe\" for TICKETING_SANDBOX: must be true or false");
}

#[test]
fn later_starts_print_no_key_and_accept_the_first_one() {
    let folder = folder();
    let first = Server::start(folder.path(), &[]);
    let key = first.key().to_owned();
    first.stop("TERM");
    let second = Server::start(folder.path(), &[]);
    assert_eq!(second.lines.len(), 5, "{:?}", second.lines);
    assert!(second.lines[1].starts_with("Listening on "));
    assert_eq!(second.get("/v1/events", &key).0, 200);
}

#[test]
fn the_printed_curl_command_works_on_the_first_and_on_later_starts() {
    if !has_curl() {
        return unavailable("curl is not installed");
    }
    let folder = folder();
    for start in ["first", "second"] {
        let server = Server::start(folder.path(), &[]);
        let output = finish(Command::new("sh").args(["-c", &format!("{} --fail", server.lines.last().unwrap())]));
        assert!(output.status.success(), "{start}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{start}");
        assert_eq!(text(&output.stdout).contains("\"nextCursor\":null"), start == "first", "{}", text(&output.stdout));
        server.stop("TERM");
    }
}

#[test]
fn an_invalid_command_line_exits_with_2_names_the_error_and_creates_nothing() {
    for (arguments, named) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["--nonsense\nand more"], "--nonsense"),
        (&["-x"], "-x"),
        (&["--listen"], "--listen"),
        (&["--listen", "8080"], "--listen"),
        (&["--listen", "127.0.0.1:99999"], "--listen"),
        (&["--listen", "a\nb"], "--listen"),
        (&["--metrics-listen", "9090"], "--metrics-listen"),
        (&["check", "--metrics-listen", "127.0.0.1:0"], "--metrics-listen"),
        (&["--database", ""], "--database"),
        (&["--public-url", "tickets.example.com"], "--public-url"),
        (&["--public-url", "ftp://tickets.example.com"], "--public-url"),
        (&["--public-url", "https://"], "--public-url"),
        (&["--public-url", "https://tickets.example.com/?a=b"], "--public-url"),
        (&["--public-url", "https://tickets.example.com/a|b", "--listen", "127.0.0.1:0"], "--public-url"),
        (&["--order-hold", "0"], "--order-hold"),
        (&["--order-hold", "-1"], "--order-hold"),
        (&["--order-hold", "1.5"], "--order-hold"),
        (&["--order-hold", "99999999999"], "--order-hold"),
        (&["--max-reserved-per-customer", "-1"], "--max-reserved-per-customer"),
        (&["--rate-limit", "many"], "--rate-limit"),
        (&["--write-quota", "1.5"], "--write-quota"),
        (&["--log-format", "xml"], "--log-format"),
        (&["--log-format"], "--log-format"),
        (&["--rate-limit", "-1"], "--rate-limit"),
        (&["--failed-authentications", "some"], "--failed-authentications"),
        (&["--allow-local-webhooks=perhaps"], "--allow-local-webhooks"),
        (&["--scopes", "all"], "--scopes"),
        (&["serve"], "serve"),
        (&["create-organization"], "create-organization"),
        (&["create-organization", ""], "NAME"),
        (&["create-organization", "Cellar", "Attic"], "create-organization"),
        (&["create-organization", "Cellar", "--currency", "EURO"], "--currency"),
        (&["create-organization", "Cellar", "--currency", "QQQ"], "--currency"),
        (&["create-organization", "Cellar", "--timezone", "Europe/Atlantis"], "--timezone"),
        (&["create-organization", "Cellar", "--listen", "127.0.0.1:0"], "--listen"),
        (&["list-organizations", "all"], "list-organizations"),
        (&["create-organization", "Cellar", "--reference", ""], "reference"),
        (&["create-organization", "Cellar", "--page-name", "The Cellar"], "--page-name must be lower-case letters"),
        (&["create-organization", "Cellar", "--website", "http://example.com"], "--website must be an https URL"),
        (&["create-organization", "Cellar", "--imprint-url", "imprint"], "--imprint-url must be an https URL"),
        (&["create-organization", "Cellar", "--privacy-url", ""], "--privacy-url must be an https URL"),
        (&["get-organization"], "get-organization"),
        (&["update-organization", "a", "b"], "update-organization"),
        (&["suspend-organization", "org_0000000000001", "--name", "x"], "--name"),
        (&["list-organizations", "--name", "x"], "--name"),
        (&["create-key"], "create-key"),
        (&["create-key", "org_0000000000001", "--scopes", "events:read,events:eat"], "events:eat"),
        (&["create-key", "org_0000000000001", "--scopes", ""], "--scopes"),
        (&["create-key", "org_0000000000001", "--name", ""], "--name"),
        (&["create-key", "org_0000000000001", "--expires", "tomorrow"], "--expires"),
        (&["list-keys"], "list-keys"),
        (&["revoke-key"], "revoke-key"),
        (&["revoke-key", "a", "b"], "revoke-key"),
        (&["backup"], "backup"),
        (&["backup", "a.db", "b.db"], "backup"),
        (&["backup", "a.db", "--name", "x"], "--name"),
        (&["check", "all"], "check"),
        (&["check", "--listen", "127.0.0.1:0"], "--listen"),
    ] {
        let folder = folder();
        let line = error_line(&mut program(folder.path(), arguments), 2);
        assert!(line.contains(named), "{arguments:?}: {line}");
        assert!(files(folder.path()).is_empty(), "{arguments:?}");
    }
}

#[test]
fn fonts_are_read_from_a_folder_and_what_is_not_one_is_named() {
    let folder = folder();
    let fonts = folder.path().join("fonts");
    let start = |variable: Option<&str>| {
        let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
        match variable {
            Some(value) => command.env("TICKETING_FONTS", value),
            None => command.args(["--fonts", "fonts"]),
        };
        command
    };
    let line = error_line(&mut start(None), 2);
    assert!(line.contains("--fonts: cannot read fonts"), "{line}");
    std::fs::create_dir(&fonts).unwrap();
    std::fs::write(fonts.join("README"), "Fonts").unwrap();
    let line = error_line(&mut start(Some("fonts")), 2);
    assert!(line.contains("fonts has no file with a font"), "{line}");
    let noto = concat!(env!("CARGO_MANIFEST_DIR"), "/src/documents/fonts/NotoSans-Regular.ttf");
    std::fs::copy(noto, fonts.join("a.TTF")).unwrap();
    Server::start_program(&mut start(None));
    std::fs::write(fonts.join("b.otf"), "no font").unwrap();
    let line = error_line(&mut start(None), 2);
    assert!(line.contains("b.otf must be a TrueType or OpenType font"), "{line}");
}

#[test]
fn an_invalid_environment_exits_with_2_names_the_variable_and_creates_nothing() {
    for (name, value) in [
        ("TICKETING_DATABASE", ""),
        ("TICKETING_LISTEN", "somewhere"),
        ("TICKETING_PAPER", "a5"),
        ("TICKETING_METRICS_LISTEN", "somewhere"),
        ("TICKETING_PUBLIC_URL", "there"),
        ("TICKETING_ORDER_HOLD", "soon"),
        ("TICKETING_RATE_LIMIT", "none"),
        ("TICKETING_FAILED_AUTHENTICATIONS", "1.5"),
        ("TICKETING_ALLOW_LOCAL_WEBHOOKS", "perhaps"),
    ] {
        let folder = folder();
        let line = error_line(program(folder.path(), &[]).env(name, value), 2);
        assert!(line.contains(name), "{line}");
        assert!(files(folder.path()).is_empty(), "{name}");
    }
}

#[test]
fn environment_variables_set_every_option_and_the_command_line_takes_precedence() {
    let folder = folder();
    let mut command = program(folder.path(), &["--database", "option.db", "--order-hold", "60"]);
    command
        .env("TICKETING_DATABASE", "environment.db")
        .env("TICKETING_LISTEN", "127.0.0.1:0")
        .env("TICKETING_METRICS_LISTEN", "127.0.0.1:0")
        .env("TICKETING_PUBLIC_URL", "https://tickets.example.com")
        .env("TICKETING_ORDER_HOLD", "ignored")
        .env("TICKETING_RATE_LIMIT", "0")
        .env("TICKETING_FAILED_AUTHENTICATIONS", "10")
        .env("TICKETING_ALLOW_LOCAL_WEBHOOKS", "true");
    let server = Server::start_program(&mut command);
    assert!(!server.address().ends_with(":8080"));
    assert!(server.printed("Metrics on ").is_some());
    assert!(folder.path().join("option.db").exists() && !folder.path().join("environment.db").exists());
    let mut command = program(folder.path(), &["list-organizations"]);
    assert!(finish(command.env("TICKETING_DATABASE", "option.db")).status.success());
}

#[test]
fn with_a_limit_of_0_failed_authentications_are_not_limited() {
    let folder = folder();
    for (limit, last) in [("0", 401), ("60", 429)] {
        let server = Server::start(folder.path(), &["--failed-authentications", limit]);
        let statuses: Vec<_> = (0..61).map(|_| server.get("/v1/events", "tk_wrong").0).collect();
        assert_eq!((statuses[59], statuses[60]), (401, last), "{limit}");
    }
}

#[test]
fn checkout_links_begin_with_the_public_url_and_orders_expire_after_the_hold() {
    let folder = folder();
    let url = "https://tickets.example.com/shop/";
    let server = Server::start(folder.path(), &["--public-url", url, "--order-hold", "1"]);
    let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
    let caller = service.authenticate(server.key()).unwrap();
    let mut event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX);
    event.status = Some(EventStatus::Published);
    let event = service.create_event(&caller, event).unwrap().id;
    let ticket_type = CreateTicketType::new("General admission", Amount::cents(1250), 1);
    let ticket_type = service.create_ticket_type(&caller, event, ticket_type).unwrap().id;
    let order = format!(
        r#"{{"eventId": "{event}", "customer": {{"name": "Ada", "email": "ada@example.com"}},
            "items": [{{"ticketId": "{ticket_type}", "quantity": 1}}]}}"#
    );
    let (status, response) = server.send("POST", "/v1/orders", server.key(), &order);
    assert!(
        status < 300 && response.contains(r#""checkoutUrl":"https://tickets.example.com/shop/checkout/"#),
        "{response}"
    );
    let expired = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        service.list_orders(&caller, ListOrders::default()).unwrap().data[0].status == OrderStatus::Expired
    });
    assert!(expired);
}

#[cfg(feature = "documents")]
#[test]
fn ticket_documents_have_the_paper_that_is_set() {
    use ticketing::order::NewCustomer;
    use ticketing::ticket::IssueTickets;

    for (arguments, size) in [(&[][..], "595.276 841.89"), (&["--paper", "letter"], "612 792")] {
        let folder = folder();
        let server = Server::start(folder.path(), arguments);
        let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        let caller = service.authenticate(server.key()).unwrap();
        let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).status(EventStatus::Published);
        let event = service.create_event(&caller, event).unwrap().id;
        let ticket_type = CreateTicketType::new("General admission", Amount::cents(0), 1);
        let ticket_type = service.create_ticket_type(&caller, event, ticket_type).unwrap().id;
        let holder = NewCustomer::new("Ada", "ada@example.com");
        let issued = service.issue_tickets(&caller, IssueTickets::new(ticket_type, holder, 1)).unwrap();
        let (path, key) = (format!("/v1/tickets/{}/document", issued.issued_tickets[0].id), server.key());
        let mut connection = TcpStream::connect(server.address()).unwrap();
        write!(connection, "GET {path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = Vec::new();
        connection.read_to_end(&mut response).unwrap();
        let response = String::from_utf8_lossy(&response);
        assert!(response.contains(&format!("/MediaBox[0 0 {size}]")), "{arguments:?}: {response:.300}");
    }
}

#[test]
fn help_and_version_are_printed_and_nothing_is_created() {
    let folder = folder();
    let help = finish(&mut program(folder.path(), &["--help"]));
    assert!(help.status.success());
    for option in [
        "database",
        "listen",
        "metrics-listen",
        "public-url",
        "order-hold",
        "max-reserved-per-customer",
        "rate-limit",
        "write-quota",
        "failed-authentications",
        "allow-local-webhooks",
        "log-format",
    ] {
        assert!(text(&help.stdout).contains(&format!("--{option}")));
        let variable = format!("TICKETING_{}", option.to_uppercase().replace('-', "_"));
        assert!(text(&help.stdout).contains(&variable));
    }
    let of_keys = finish(&mut program(folder.path(), &["create-key", "--help"]));
    for scope in Scope::ALL {
        assert!(text(&of_keys.stdout).contains(scope.as_str()), "{scope}");
    }
    for line in [help.stdout, of_keys.stdout].iter().flat_map(|help| text(help).lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let version = finish(&mut program(folder.path(), &["--version"]));
    assert_eq!(text(&version.stdout), concat!("ticketing ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn the_help_and_errors_show_no_value_of_the_environment_and_no_password() {
    let folder = folder();
    let url = "postgres://ada:sword-fish@127.0.0.1:1/hall";
    let help = finish(program(folder.path(), &["--help"]).env("TICKETING_DATABASE", url));
    assert!(help.status.success() && !text(&help.stdout).contains("sword-fish"));
    let with_equals = format!("--read-from={url}");
    for arguments in [
        &["--database", url][..],
        &[&with_equals],
        &["--databse", url],
        &["--listen", url],
        &["copy", "--to", url],
        &["check", url],
        &[url],
        &["--database", "postgres://ada:sword-fish?@127.0.0.1:1/hall"],
    ] {
        let line = error_line(&mut program(folder.path(), arguments), 2);
        assert!(line.contains("must have no password") && !line.contains("sword-fish"), "{arguments:?}: {line}");
    }
    assert!(files(folder.path()).is_empty());
}

#[test]
fn an_option_of_the_server_before_a_command_is_refused_and_those_of_the_database_are_not() {
    let folder = folder();
    let line = error_line(&mut program(folder.path(), &["--rate-limit", "5", "check"]), 2);
    assert_eq!(line, "--rate-limit is an option of the server, or must be after check");
    json_output(folder.path(), &["--database", "a.db", "create-organization", "Cellar"]);
    json_output(folder.path(), &["--database", "none.db", "--database", "a.db", "list-organizations"]);
    assert_eq!(files(folder.path()), ["a.db"]);
}

#[test]
fn a_script_completes_the_commands_and_options_in_a_shell() {
    let folder = folder();
    let script = finish(&mut program(folder.path(), &["completions", "bash"]));
    assert!(script.status.success());
    let script_path = folder.path().join("completions");
    std::fs::write(&script_path, &script.stdout).unwrap();
    let complete = r#"source completions; COMP_WORDS=(ticketing stripe-r); COMP_CWORD=1
        _ticketing ticketing stripe-r ticketing; echo "${COMPREPLY[@]}""#;
    let output = finish(Command::new("bash").args(["-c", complete]).current_dir(folder.path()));
    assert_eq!(text(&output.stdout), "stripe-reconcile\n", "{}", text(&output.stderr));
    let line = error_line(&mut program(folder.path(), &["completions", "cmd"]), 2);
    assert_eq!(line, "invalid value \"cmd\" for SHELL: must be bash, elvish, fish, powershell or zsh");
}

#[test]
fn an_unknown_command_and_a_missing_value_are_answered_with_what_there_is() {
    let folder = folder();
    let error = |arguments: &[&str]| error_line(&mut program(folder.path(), arguments), 2);
    let unknown = error(&["organizations"]);
    let (_, commands) = unknown.split_once("; Commands: ").expect("a list");
    let commands: Vec<_> = commands.split(", ").collect();
    for command in ["create-organization", "list-organizations", "backup", "door-link", "completions"] {
        assert!(commands.contains(&command), "{unknown}");
    }
    let missing = error(&["completions"]);
    assert!(missing.ends_with("; SHELL is bash, elvish, fish, powershell or zsh"), "{missing}");
    // Any path may be given.
    assert!(error(&["backup"]).ends_with("backup <PATH>"));
}

#[test]
fn organizations_and_keys_are_managed_without_a_server() {
    let folder = folder();
    let cellar = ["create-organization", "Jazz Cellar", "--currency", "JPY", "--timezone", "Asia/Tokyo"];
    let created = json_output(folder.path(), &cellar);
    let organization = created["id"].as_str().unwrap();
    assert!(organization.starts_with("org_"), "{created}");
    assert_eq!((&created["currency"], &created["timezone"]), (&"JPY".into(), &"Asia/Tokyo".into()));
    assert_eq!(json_output(folder.path(), &["list-organizations"])["organizations"], serde_json::json!([created]));

    let scopes = ["--scopes", "tickets:check-in,tickets:read", "--name", "Entrance", "--expires", "2100-01-01T00:00Z"];
    let entrance = json_output(folder.path(), &[&["create-key", organization][..], &scopes].concat());
    assert!(entrance["key"].as_str().unwrap().starts_with("tk_"));
    assert_eq!(entrance["scopes"], serde_json::json!(["tickets:read", "tickets:check-in"]));
    assert_eq!(entrance["expiresAt"], "2100-01-01T00:00:00.000Z");
    let unrestricted = json_output(folder.path(), &["create-key", organization]);
    assert_eq!(unrestricted["scopes"].as_array().unwrap().len(), 16);

    let keys = json_output(folder.path(), &["list-keys", organization])["keys"].clone();
    assert_eq!((&keys[1]["id"], &keys[1]["name"]), (&entrance["id"], &"Entrance".into()));
    assert!(!keys.to_string().contains(entrance["key"].as_str().unwrap()));
    assert_eq!(keys[1]["revokedAt"], Value::Null);
    assert_eq!(json_output(folder.path(), &["revoke-key", entrance["id"].as_str().unwrap()])["id"], entrance["id"]);
    let keys = json_output(folder.path(), &["list-keys", organization])["keys"].clone();
    assert!(keys[1]["revokedAt"].is_string());
    assert_eq!(files(folder.path()), ["ticketing.db"]);
}

#[test]
fn an_organization_is_changed_suspended_resumed_counted_and_deleted() {
    let folder = folder();
    let created = json_output(folder.path(), &["create-organization", "Cellar", "--reference", "customer-17"]);
    assert_eq!((&created["reference"], &created["suspendedAt"]), (&"customer-17".into(), &Value::Null));
    let id = created["id"].as_str().unwrap();
    assert_eq!(json_output(folder.path(), &["get-organization", id]), created);
    let changed = json_output(folder.path(), &["update-organization", id, "--name", "Attic", "--currency", "JPY"]);
    assert_eq!((&changed["name"], &changed["currency"]), (&"Attic".into(), &"JPY".into()));
    assert_eq!((&changed["timezone"], &changed["reference"]), (&created["timezone"], &created["reference"]));
    let line = error_line(&mut program(folder.path(), &["update-organization", id, "--currency", "EURO"]), 2);
    assert!(line.contains("currency"), "{line}");

    let of_page = [
        ("pageName", "--page-name", "cellar"),
        ("website", "--website", "https://example.com"),
        ("imprintUrl", "--imprint-url", "https://example.com/imprint"),
        ("privacyUrl", "--privacy-url", "https://example.com/privacy"),
    ];
    let options: Vec<&str> = of_page.iter().flat_map(|(_, option, value)| [*option, *value]).collect();
    let shown = json_output(folder.path(), &[&["update-organization", id][..], &options].concat());
    for (field, _, value) in of_page {
        assert_eq!((&changed[field], &shown[field]), (&Value::Null, &value.into()), "{field}");
    }
    assert_eq!((&shown["name"], &shown["reference"]), (&changed["name"], &changed["reference"]));
    let again = [&["create-organization", "Attic"][..], &options].concat();
    let line = error_line(&mut program(folder.path(), &again), 1);
    assert!(line.contains("another organization has the page name cellar"), "{line}");
    let again = [&["create-organization", "Attic"][..], &options, &["--page-name", "attic"]].concat();
    let again = json_output(folder.path(), &again);
    assert_eq!((&again["pageName"], &again["privacyUrl"]), (&"attic".into(), &shown["privacyUrl"]));

    let usage = json_output(folder.path(), &["organization-usage", id]);
    assert_eq!((&usage["orders"], &usage["bytes"]), (&0.into(), &0.into()));
    let key = json_output(folder.path(), &["create-key", id]);
    let server = Server::start(folder.path(), &[]);
    let secret = key["key"].as_str().unwrap();
    assert_eq!(server.get("/v1/events", secret).0, 200);
    assert!(json_output(folder.path(), &["suspend-organization", id])["suspendedAt"].is_string());
    let (status, problem) = server.get("/v1/events", secret);
    assert!(status == 403 && problem.contains("urn:ticketing:problem:organization-suspended"), "{problem}");
    assert_eq!(json_output(folder.path(), &["resume-organization", id])["suspendedAt"], Value::Null);
    assert_eq!(server.get("/v1/events", secret).0, 200);
    assert_eq!(json_output(folder.path(), &["delete-organization", id])["deleted"], created["id"]);
    assert_eq!(server.get("/v1/events", secret).0, 401);
}

#[test]
fn all_organizations_are_listed_also_if_they_are_more_than_a_page() {
    let folder = folder();
    json_output(folder.path(), &["create-organization", "Cellar"]);
    Database::open(&folder.path().join("ticketing.db")).run(
        "INSERT INTO organizations (id, name, currency, timezone, created_at)
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100)
            SELECT n, 'Tenant', 'EUR', 'UTC', 0 FROM number",
    );
    let listed = json_output(folder.path(), &["list-organizations"]);
    assert_eq!(listed["organizations"].as_array().unwrap().len(), 101);
}

#[test]
fn keys_are_created_and_revoked_while_a_server_runs() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let organization = server.printed("Organization: ").unwrap();
    let key = json_output(folder.path(), &["create-key", organization, "--scopes", "events:read"]);
    let secret = key["key"].as_str().unwrap();
    assert_eq!(server.get("/v1/events", secret).0, 200);
    assert_eq!(server.get("/v1/orders", secret).0, 403);
    json_output(folder.path(), &["revoke-key", key["id"].as_str().unwrap()]);
    assert_eq!(server.get("/v1/events", secret).0, 401);
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    json_output(folder.path(), &["create-organization", "Another"]);
    let listed = json_output(folder.path(), &["list-organizations", "--database", "ticketing.db"]);
    assert_eq!(listed["organizations"].as_array().unwrap().len(), 2);
    let (status, _) = server.stop("TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn an_unknown_organization_or_key_exits_with_1_and_one_line() {
    let folder = folder();
    json_output(folder.path(), &["create-organization", "Cellar"]);
    for arguments in [
        ["create-key", "org_0000000000001"],
        ["create-key", "nobody"],
        ["get-organization", "org_0000000000001"],
        ["update-organization", "nobody"],
        ["suspend-organization", "org_0000000000001"],
        ["resume-organization", "org_0000000000001"],
        ["delete-organization", "org_0000000000001"],
        ["organization-usage", "org_0000000000001"],
        ["list-keys", "org_0000000000001"],
        ["list-keys", "key_0000000000001"],
        ["revoke-key", "key_0000000000001"],
        ["revoke-key", ""],
    ] {
        error_line(&mut program(folder.path(), &arguments), 1);
    }
}

#[test]
fn a_missing_database_is_a_failure_and_is_not_created() {
    for arguments in [
        &["list-organizations"][..],
        &["create-key", "org_0000000000001"],
        &["list-keys", "org_0000000000001"],
        &["revoke-key", "key_0000000000001"],
        &["backup", "copy.db"],
        &["check"],
    ] {
        let folder = folder();
        let status = if arguments == ["check"] { 2 } else { 1 };
        let line = error_line(program(folder.path(), arguments).args(["--database", "elsewhere.db"]), status);
        assert!(line.contains("elsewhere.db"), "{line}");
        assert!(files(folder.path()).is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_unusable_database_exits_with_1_and_one_line_that_names_it() {
    let folder = folder();
    std::fs::write(folder.path().join("letter.txt"), "Dear Ada, this is not a database.".repeat(100)).unwrap();
    for database in ["letter.txt", "no-such-folder/ticketing.db", "."] {
        for command in [&["--listen", "127.0.0.1:0"][..], &["create-organization", "Cellar"]] {
            let line = error_line(program(folder.path(), command).args(["--database", database]), 1);
            assert!(line.contains(database), "{line}");
        }
    }
    // It could not look.
    let line = error_line(&mut program(folder.path(), &["check", "--database", "letter.txt"]), 2);
    assert!(line.contains("letter.txt"), "{line}");
    assert_eq!(files(folder.path()), ["letter.txt"]);
}

#[test]
fn a_port_in_use_exits_with_1_and_creates_no_database() {
    let folder = folder();
    let in_use = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = in_use.local_addr().unwrap().to_string();
    for arguments in [&["--listen", &address][..], &["--listen", "127.0.0.1:0", "--metrics-listen", &address]] {
        let line = error_line(&mut program(folder.path(), arguments), 1);
        assert!(line.contains(&address), "{line}");
        assert!(files(folder.path()).is_empty());
    }
}

#[test]
fn metrics_can_have_an_address_of_their_own() {
    let folder = folder();
    let server = Server::start(folder.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let url = server.printed("Metrics on http://").unwrap().to_owned();
    let (metrics_address, path) = url.split_once('/').unwrap();
    assert_ne!(metrics_address, server.address());
    assert_eq!(server.get("/v1/events", server.key()).0, 200);
    assert_eq!(server.get("/metrics", "").0, 404);
    let mut connection = TcpStream::connect(metrics_address).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {metrics_address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    let series = r#"ticketing_http_requests_total{route="/v1/events",method="GET",status="200"} 1"#;
    assert!(response.contains(series), "{response}");
    // Nothing else is served there.
    let mut connection = TcpStream::connect(metrics_address).unwrap();
    connection.write_all(request.replace("/metrics", "/v1/events").as_bytes()).unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    let (status, _) = server.stop("TERM");
    assert_eq!(status.code(), Some(0));
    assert_eq!(files(folder.path()), ["ticketing.db"]);
}

#[test]
fn two_simultaneous_first_starts_create_one_organization() {
    for _ in 0..3 {
        let folder = folder();
        let servers: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..2).map(|_| scope.spawn(|| Server::start(folder.path(), &[]))).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        let keys: Vec<_> = servers.iter().filter_map(|server| server.printed("API key: ")).collect();
        assert_eq!(keys.len(), 1);
        for server in &servers {
            assert_eq!(server.get("/v1/events", keys[0]).0, 200);
        }
        let listed = json_output(folder.path(), &["list-organizations"]);
        assert_eq!(listed["organizations"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn backup_and_check_work_with_and_without_a_running_server() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let event = r#"{"title": "Summer Night", "slug": "summer-night", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"}"#;
    assert_eq!(server.send("POST", "/v1/events", server.key(), event).0, 201);
    let checked = serde_json::json!({
        "events": 1, "ticketTypes": 0, "customers": 0, "orders": 0, "tickets": 0, "scans": 0, "payments": 0, "refunds": 0,
        "webhookEndpoints": 0, "notifications": 0,
    });
    let clean = serde_json::json!({ "clean": true, "findings": [], "checked": checked });
    for (copy, server) in [("first.db", Some(server)), ("second.db", None)] {
        let output = finish(&mut program(folder.path(), &["backup", copy]));
        assert!(output.status.success() && output.stderr.is_empty(), "no progress bar without a terminal");
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let length = std::fs::metadata(folder.path().join(copy)).unwrap().len();
        assert_eq!((printed["path"].as_str(), printed["bytes"].as_u64()), (Some(copy), Some(length)));
        assert!(printed["pages"].as_u64().unwrap() > 0);
        for database in ["ticketing.db", copy] {
            assert_eq!(json_output(folder.path(), &["check", "--database", database]), clean);
        }
        let listed = json_output(folder.path(), &["list-organizations", "--database", copy]);
        assert_eq!(listed["organizations"].as_array().unwrap().len(), 1);
        if let Some(server) = server {
            assert_eq!(server.get("/v1/events", server.key()).0, 200);
            assert_eq!(server.stop("TERM").0.code(), Some(0));
        }
    }
    assert_eq!(files(folder.path()), ["first.db", "second.db", "ticketing.db"]);
}

#[test]
fn backup_never_overwrites_an_existing_file() {
    let folder = folder();
    json_output(folder.path(), &["create-organization", "Cellar"]);
    std::fs::write(folder.path().join("letter.txt"), "Dear Ada").unwrap();
    for target in ["letter.txt", "ticketing.db", "ticketing.db-wal", "."] {
        let line = error_line(&mut program(folder.path(), &["backup", target]), 2);
        assert!(line.starts_with("PATH "), "{line}");
    }
    let line = error_line(&mut program(folder.path(), &["backup", "no-such-folder/copy.db"]), 1);
    assert!(line.contains("no-such-folder/copy.db"), "{line}");
    assert_eq!(files(folder.path()), ["letter.txt", "ticketing.db"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("letter.txt")).unwrap(), "Dear Ada");
}

#[test]
fn check_reports_a_violated_invariant_and_exits_with_1() {
    let folder = folder();
    json_output(folder.path(), &["create-organization", "Cellar"]);
    let file = crate::common::Database::open(&folder.path().join("ticketing.db"));
    file.execute("UPDATE organizations SET timezone = 'Mars/Base'", []);
    drop(file);
    let output = finish(&mut program(folder.path(), &["check"]));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 1);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["clean"], false);
    assert_eq!(report["counts"], serde_json::json!({ "organization-settings": 1 }));
    let finding = &report["findings"][0];
    assert_eq!((&finding["invariant"], &finding["table"]), (&"organization-settings".into(), &"organizations".into()));
    assert!(finding["row"].is_string() && finding["sentence"].as_str().unwrap().contains("time zone"));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn restore_brings_back_the_backup_and_refuses_while_a_server_runs() {
    let folder = folder();
    let organizations = || {
        let listed = json_output(folder.path(), &["list-organizations"]);
        listed["organizations"].as_array().unwrap().len()
    };
    json_output(folder.path(), &["create-organization", "Cellar"]);
    json_output(folder.path(), &["backup", "copy.db"]);
    json_output(folder.path(), &["create-organization", "Attic"]);
    let server = Server::start(folder.path(), &[]);
    let line = error_line(&mut program(folder.path(), &["restore", "copy.db"]), 1);
    assert!(line.contains("ticketing.db") && line.contains("stop all programs"), "{line}");
    assert_eq!(server.stop("TERM").0.code(), Some(0));
    assert_eq!(organizations(), 2);
    let restored = json_output(folder.path(), &["restore", "copy.db"]);
    assert_eq!(restored, serde_json::json!({ "backup": "copy.db", "database": "ticketing.db" }));
    assert_eq!(organizations(), 1);
    assert_eq!(files(folder.path()), ["copy.db", "ticketing.db"]);
    let line = error_line(&mut program(folder.path(), &["restore", "ticketing.db"]), 2);
    assert!(line.starts_with("BACKUP must "), "{line}");
}

#[test]
fn only_the_server_migrates_an_older_database_and_it_keeps_a_copy() {
    let folder = folder();
    std::fs::write(folder.path().join("ticketing.db"), crate::storage::upgrade::file_of_0_3_0()).unwrap();
    let version = || {
        let file = crate::common::Database::open(&folder.path().join("ticketing.db"));
        file.value::<i64>("PRAGMA user_version")
    };
    assert_eq!(json_output(folder.path(), &["check"])["clean"], true);
    json_output(folder.path(), &["backup", "copy.db"]);
    for command in [&["list-organizations"][..], &["create-organization", "Cellar"]] {
        let line = error_line(&mut program(folder.path(), command), 1);
        assert!(line.contains("schema version 39") && line.contains("start the server"), "{line}");
    }
    assert_eq!(version(), 39);
    let server = Server::start(folder.path(), &["--sandbox"]);
    assert_eq!(server.stop("TERM").0.code(), Some(0));
    assert!(version() > 39);
    assert_eq!(files(folder.path()), ["copy.db", "ticketing.db", "ticketing.db.schema-39"]);

    json_output(folder.path(), &["restore", "copy.db"]);
    std::fs::remove_file(folder.path().join("ticketing.db.schema-39")).unwrap();
    let server = Server::start(folder.path(), &["--sandbox", "--no-migration-copy"]);
    assert_eq!(server.stop("TERM").0.code(), Some(0));
    assert_eq!(files(folder.path()), ["copy.db", "ticketing.db"]);
}

#[test]
fn sigterm_and_ctrl_c_exit_with_0_and_leave_one_file() {
    for signal in ["TERM", "INT"] {
        let folder = folder();
        let server = Server::start(folder.path(), &[]);
        assert_eq!(server.get("/v1/events", server.key()).0, 200);
        let (status, printed) = server.stop(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(printed.is_empty(), "{signal}: {printed:?}");
        assert_eq!(files(folder.path()), ["ticketing.db"], "{signal}");
    }
}
