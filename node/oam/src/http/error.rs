//! Errors of the API: `{"error": {"code", "message", "details"}}` with an HTTP status.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use config::Refused;
use runtime::AskError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

/// Why a request was refused.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    /// A word for programs: `conflict`.
    code: &'static str,
    /// A sentence for people.
    message: String,
    /// More of it: the mistakes of a configuration.
    #[schema(value_type = Vec<super::configuration::Mistake>)]
    details: Vec<serde_json::Value>,
}

/// The envelope of an error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    error: ApiError,
}

impl ApiError {
    /// An error without details.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: Vec::new() }
    }

    /// Nothing is there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    /// The request is malformed.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
    }

    /// Something broke on our side.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(ErrorBody { error: self })).into_response()
    }
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::NotFound(_) => Self::not_found(error.to_string()),
            AskError::BadParameter(_) => Self::bad(error.to_string()),
            AskError::Unreachable => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unreachable", error.to_string())
            }
        }
    }
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        let message = refused.to_string();
        let (status, code) = match &refused {
            Refused::Conflict { .. } => (StatusCode::CONFLICT, "conflict"),
            Refused::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            Refused::Unchanged => (StatusCode::UNPROCESSABLE_ENTITY, "unchanged"),
            Refused::NotPending => (StatusCode::CONFLICT, "not-pending"),
            Refused::Pending => (StatusCode::CONFLICT, "pending"),
            Refused::Edited(_) => (StatusCode::CONFLICT, "edited"),
            Refused::NotKept(_) | Refused::NothingBefore => (StatusCode::NOT_FOUND, "not-found"),
            Refused::BadParameter(_) => (StatusCode::BAD_REQUEST, "bad-request"),
            Refused::Storage(_) => (StatusCode::INSUFFICIENT_STORAGE, "storage"),
        };
        let mut error = Self::new(status, code, message);
        if let Refused::Invalid(found) = refused {
            error.details = found.iter().filter_map(|d| serde_json::to_value(d).ok()).collect();
        }
        error
    }
}

/// A JSON body whose refusal is JSON too; an empty body reads as an empty object.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let empty = request.headers().get("content-length").is_none_or(|length| length == "0")
            && request.headers().get("transfer-encoding").is_none();
        if empty {
            return serde_json::from_str("{}")
                .map(Self)
                .map_err(|error| ApiError::bad(format!("a JSON body is missing: {error}")));
        }
        Json::from_request(request, state).await.map(|Json(value)| Self(value)).map_err(refused)
    }
}

fn refused(rejection: JsonRejection) -> ApiError {
    ApiError::new(rejection.status(), "bad-request", rejection.body_text())
}

/// Query parameters whose refusal is JSON too.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::from_request_parts(parts, state).await;
        read.map(|Query(value)| Self(value))
            .map_err(|error: QueryRejection| ApiError::bad(error.body_text()))
    }
}
