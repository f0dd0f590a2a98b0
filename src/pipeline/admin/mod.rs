//! The operator's API: tenants, their keys, and who changed what.
mod audit;
mod fields;
mod keys;
mod tenants;

pub use fields::body;

use super::answer::Answered;
use super::caller::key_of;
use super::ports::{Ambient, Database, PortError, Rows, Statement};
use super::problem::Problem;
use super::query::Query;
use super::retry::patiently;
use super::route::AdminRoute;
use super::store::KeyHash;

/// Whether a request carries the operator's token, in either header of a key.
/// Without a token that is long enough, nobody is an operator.
///
/// # Errors
///
/// 401, whatever is wrong.
pub fn authorize(
    header: impl Fn(&str) -> Option<String>,
    token: Option<&str>,
) -> Result<(), Problem> {
    let token = token.map(str::trim).filter(|token| token.len() >= SHORTEST_TOKEN);
    let given = key_of(&header).ok_or_else(Problem::no_operator)?;
    let fits = |token| KeyHash::of(&given).matches(&KeyHash::of(token).to_hex());
    if token.is_some_and(fits) { Ok(()) } else { Err(Problem::no_operator()) }
}

/// Answers an operator, whose token has been checked.
///
/// # Errors
///
/// Why not.
pub async fn answer<P>(ports: &P, route: AdminRoute, query: &Query, body: &str) -> Answered
where
    P: Database + Ambient,
{
    check(&route, query)?;
    match route {
        AdminRoute::CreateTenant => tenants::create(ports, body).await,
        AdminRoute::ListTenants => tenants::list(ports, query).await,
        AdminRoute::Tenant(tenant) => tenants::read(ports, &tenant).await,
        AdminRoute::ChangeTenant(tenant) => tenants::change(ports, &tenant, body).await,
        AdminRoute::CreateKey(tenant) => keys::create(ports, &tenant, body).await,
        AdminRoute::ListKeys(tenant) => keys::list(ports, &tenant, query).await,
        AdminRoute::RevokeKey(tenant, prefix) => keys::revoke(ports, &tenant, &prefix).await,
        AdminRoute::Audit => audit::list(ports, query).await,
    }
}

/// Whether the URL says nothing that the route has no use for.
fn check(route: &AdminRoute, query: &Query) -> Result<(), Problem> {
    match route {
        AdminRoute::CreateTenant
        | AdminRoute::Tenant(_)
        | AdminRoute::ChangeTenant(_)
        | AdminRoute::CreateKey(_)
        | AdminRoute::RevokeKey(..) => query.only(&[]),
        // Read by those who answer, and checked there.
        AdminRoute::ListTenants | AdminRoute::ListKeys(_) | AdminRoute::Audit => Ok(()),
    }
}

/// The schemas of what an operator is told.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn schemas(to: &mut Vec<super::openapi::Named>) {
    super::openapi::add::<tenants::Tenants>(to);
    super::openapi::add::<keys::Keys>(to);
    super::openapi::add::<keys::NewKeyView>(to);
    super::openapi::add::<audit::Audit>(to);
}

/// Makes a change.
async fn change<P>(ports: &P, statements: Vec<Statement>) -> Result<Vec<Rows>, Problem>
where
    P: Database + Ambient,
{
    let changed = patiently(ports, async || ports.batch(statements.clone()).await).await;
    changed.map_err(|error| match error {
        PortError::Unavailable(_) => Problem { detail: IN_DOUBT.to_owned(), ..error.into() },
        PortError::Refused(_) => error.into(),
    })
}

/// Shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

const IN_DOUBT: &str = "the database did not answer; whether the change was made is not known: \
                        read it, then try again";

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "sixteen-letters-";

    fn given(headers: &[(&str, &str)], token: Option<&str>) -> bool {
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let authorized = authorize(header, token);
        assert!(authorized.is_ok() || authorized == Err(Problem::no_operator()));
        authorized.is_ok()
    }

    #[test]
    fn the_token_comes_in_either_header() {
        assert!(given(&[("authorization", "Bearer sixteen-letters-")], Some(TOKEN)));
        assert!(given(&[("x-api-key", TOKEN)], Some(TOKEN)));
        assert!(given(&[("x-api-key", TOKEN)], Some("sixteen-letters-\n")), "as a shell pipes it");
        assert!(!given(&[("x-api-key", "wrong"), ("authorization", TOKEN)], Some(TOKEN)));
        assert!(!given(&[("x-api-key", "sixteen-letters")], Some(TOKEN)));
        assert!(!given(&[("x-api-key", "sixteen-letters--")], Some(TOKEN)));
        assert!(!given(&[("authorization", "Basic sixteen-letters-")], Some(TOKEN)));
        assert!(!given(&[], Some(TOKEN)));
    }

    #[test]
    fn without_a_token_that_is_long_enough_nobody_is_an_operator() {
        for token in [None, Some(""), Some("fifteen-letters"), Some("               ")] {
            assert!(!given(&[("x-api-key", "fifteen-letters")], token), "{token:?}");
            assert!(!given(&[("x-api-key", "")], token), "{token:?}");
            assert!(!given(&[("authorization", "Bearer ")], token), "{token:?}");
        }
    }
}
