//! Operations and errors of a TC-user as rows (X.880 §8, Q.773 §3.1): number, name, and for each
//! version of its application contexts class, argument, result and errors.

use crate::effects::OperationClass;
use ber::{Element, Type};
use machine::Duration;
use wire::Malformed;

/// How long an answer may take: the range that the specification gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// The specification's name of the range.
    pub name: &'static str,
    /// At least.
    pub min: Duration,
    /// At most.
    pub max: Duration,
}

/// The type of an argument, of a result, or of what is said about an error.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The type.
    pub kind: &'static Type,
    /// Whether it may lack.
    pub is_optional: bool,
}

/// An operation in some versions of its application contexts. `E` names its errors.
#[derive(Debug, Clone, Copy)]
pub struct Signature<E: 'static> {
    /// The first and the last version.
    pub versions: (u8, u8),
    /// Which answers there are.
    pub class: OperationClass,
    /// What is asked with.
    pub argument: Option<Parameter>,
    /// What is answered with.
    pub result: Option<Parameter>,
    /// Why it may fail.
    pub errors: &'static [E],
}

/// Holds what came against what belongs there.
///
/// # Errors
/// Something that belongs there lacks, something does not belong there, or it is not well-formed.
pub fn check(
    parameter: Option<Parameter>,
    element: Option<&Element<'_>>,
    spec: &'static str,
) -> Result<(), Malformed> {
    match (parameter, element) {
        (None, None) | (Some(Parameter { is_optional: true, .. }), None) => Ok(()),
        (Some(Parameter { kind, .. }), Some(element)) => match kind.tag() {
            Some(_) => kind.check_tagged(element),
            None => kind.check(element),
        },
        (Some(_), None) => Err(Malformed::new(0, "a parameter lacks", spec)),
        (None, Some(element)) => Err(element.violation("a parameter that does not belong", spec)),
    }
}

/// Declares the operations of a protocol.
///
/// A row is: name in Rust, number, name in ASN.1, timer, document and section; in it for each range
/// of versions the class, the argument, the result, and the errors. Of a parameter the type stands
/// in parentheses, `optional` in front of it where it may lack; nothing where there is none.
///
/// ```
/// use tcap::operation::Timer;
/// use tcap::OperationClass::*;
///
/// const S: Timer = Timer {
///     name: "s",
///     min: machine::Duration::from_secs(3),
///     max: machine::Duration::from_secs(10),
/// };
/// tcap::errors! {
///     /// Why it fails.
///     pub enum Failure {
///         Unknown = 1, "unknown", "TOY §2" { 1..=2 (optional ber::Null); }
///     }
/// }
/// tcap::operations! {
///     /// What can be asked.
///     pub enum Question: Failure {
///         Time = 7, "time", S, "TOY §1" {
///             2..=2 One (ber::Boolean) -> (ber::Integer<0, 86_400>) [Unknown];
///             1..=1 Three () -> (ber::Integer<0, 24>) [];
///         }
///     }
/// }
/// let question = Question::of(7).unwrap();
/// assert_eq!(question.name(), "time");
/// assert_eq!(question.signature(2).unwrap().errors, [Failure::Unknown]);
/// assert!(question.signature(1).unwrap().argument.is_none() && question.signature(3).is_none());
/// assert!(Failure::Unknown.parameter(2).unwrap().is_optional);
/// ```
#[macro_export]
macro_rules! operations {
    ($(#[$meta:meta])* $vis:vis enum $table:ident: $errors:ident {
        $($row:ident = $code:literal, $asn:literal, $timer:expr, $spec:literal {
            $($from:literal ..= $to:literal $class:ident ($($argument:tt)*) -> ($($result:tt)*)
                [$($error:ident),* $(,)?];)+
        })+
    }) => {
        $crate::rows_by_code! { $(#[$meta])* $vis $table { $($row = $code, $asn, $spec;)+ } }

        impl $table {
            /// How long an answer may take.
            #[must_use]
            $vis const fn timer(self) -> $crate::operation::Timer {
                match self { $(Self::$row => $timer),+ }
            }

            /// What it is in every version of its application contexts.
            #[must_use]
            $vis const fn signatures(self) -> &'static [$crate::operation::Signature<$errors>] {
                match self {
                    $(Self::$row => const { &[$($crate::operation::Signature {
                        versions: ($from, $to),
                        class: $crate::OperationClass::$class,
                        argument: $crate::parameter!($($argument)*),
                        result: $crate::parameter!($($result)*),
                        errors: &[$($errors::$error),*],
                    }),+] },)+
                }
            }

            /// What it is in that version of its application context; none when it is not in it.
            #[must_use]
            $vis fn signature(
                self,
                version: u8,
            ) -> ::core::option::Option<&'static $crate::operation::Signature<$errors>> {
                let mut all = self.signatures().iter();
                all.find(|it| it.versions.0 <= version && version <= it.versions.1)
            }
        }
    };
}

/// Declares the errors of a protocol, as [`operations!`] does its operations.
#[macro_export]
macro_rules! errors {
    ($(#[$meta:meta])* $vis:vis enum $table:ident {
        $($row:ident = $code:literal, $asn:literal, $spec:literal {
            $($from:literal ..= $to:literal ($($parameter:tt)*);)+
        })+
    }) => {
        $crate::rows_by_code! { $(#[$meta])* $vis $table { $($row = $code, $asn, $spec;)+ } }

        impl $table {
            /// What is said about it, by ranges of versions.
            #[must_use]
            $vis const fn parameters(
                self,
            ) -> &'static [((u8, u8), ::core::option::Option<$crate::operation::Parameter>)] {
                match self {
                    $(Self::$row => const { &[$(
                        (($from, $to), $crate::parameter!($($parameter)*))
                    ),+] },)+
                }
            }

            /// What is said about it in that version of an application context.
            #[must_use]
            $vis fn parameter(
                self,
                version: u8,
            ) -> ::core::option::Option<$crate::operation::Parameter> {
                let mut all = self.parameters().iter();
                all.find(|it| it.0.0 <= version && version <= it.0.1).and_then(|it| it.1)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! rows_by_code {
    ($(#[$meta:meta])* $vis:vis $table:ident {
        $($row:ident = $code:literal, $asn:literal, $spec:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $table { $(#[doc = concat!("`", $asn, "` (", $spec, ").")] $row),+ }

        impl $table {
            /// All of them.
            $vis const ALL: &'static [Self] = &[$(Self::$row),+];

            /// The number on the wire.
            #[must_use]
            $vis const fn code(self) -> i64 {
                match self { $(Self::$row => $code),+ }
            }

            /// The row of that number.
            #[must_use]
            $vis const fn of(code: i64) -> ::core::option::Option<Self> {
                match code { $($code => Some(Self::$row),)+ _ => None }
            }

            /// The name as the specification writes it.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self { $(Self::$row => $asn),+ }
            }

            /// The row of that name.
            #[must_use]
            $vis fn named(name: &str) -> ::core::option::Option<Self> {
                match name { $($asn => Some(Self::$row),)+ _ => None }
            }

            /// Document and section.
            #[must_use]
            $vis const fn spec(self) -> &'static str {
                match self { $(Self::$row => $spec),+ }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! parameter {
    () => {
        None
    };
    (optional $kind:ty) => {
        Some($crate::operation::Parameter {
            kind: <$kind as $crate::ber::Described>::TYPE,
            is_optional: true,
        })
    };
    ($kind:ty) => {
        Some($crate::operation::Parameter {
            kind: <$kind as $crate::ber::Described>::TYPE,
            is_optional: false,
        })
    };
}
