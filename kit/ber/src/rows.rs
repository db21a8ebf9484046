//! Declaring types: a row a component.

/// Declares a SEQUENCE.
///
/// The document may be followed by the tag that values have in place of `[UNIVERSAL 16]`.
///
/// A row is: name in Rust, name in ASN.1, type, tag in brackets where it has another than its
/// type's (`[3]`, `[3 explicit]`), `, optional` where it may lack. A last row `...` makes the type
/// extensible.
///
/// ```
/// use ber::{Element, Integer, Null, OctetString, SequenceOf};
///
/// ber::named! {
///     /// A number of digits, two in an octet.
///     pub AddressString = "AddressString", "TS 29.002 §17.7.8", OctetString<1, 20>;
/// }
/// ber::enumerated! {
///     /// Why it was asked.
///     pub enum Reason: "Reason", "TOY §2" {
///         /// A delivery.
///         Delivery = 0, "delivery";
///         /// An attempt.
///         Attempt = 1, "attempt";
///         ...
///     }
/// }
/// ber::choice! {
///     /// One or the other.
///     pub enum Target = "Target", "TOY §3" {
///         Number = "number", AddressString [0];
///         Nobody = "nobody", Null [1];
///     }
/// }
/// ber::sequence! {
///     /// All of it.
///     pub enum Ask = "Ask", "TOY §4" {
///         Target = "target", Target [0];
///         Reason = "reason", Reason;
///         Times = "times", SequenceOf<Integer<0, 255>, 1, 5>, optional;
///         ...
///     }
/// }
/// // Ask: [0] around the alternative [0] of the choice, then ENUMERATED 1, then an extension.
/// let octets = [0x30, 11, 0xa0, 3, 0x80, 1, 0x91, 0x0a, 1, 1, 0x85, 1, 7];
/// let ask = Ask::read(Element::only(&octets)?)?;
/// let target = ask.get(Ask::Target).unwrap();
/// let (which, number) = Target::read(target)?.unwrap();
/// assert!(matches!(which, Target::Number) && number.octets()? == [0x91][..]);
/// assert_eq!(ask.integer(Ask::Reason).and_then(Reason::of), Some(Reason::Attempt));
/// assert_eq!(ask.unknown().count(), 1);
/// # Ok::<(), wire::Malformed>(())
/// ```
#[macro_export]
macro_rules! sequence {
    ($(#[$meta:meta])* $vis:vis enum $table:ident = $name:literal, $spec:literal
     $(, [$($own:tt)+])? {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])? $(, $presence:ident)?;)* ...
    }) => {
        $crate::components! { $(#[$meta])* $vis $table = $name, $spec, [$($($own)+)?],
            Sequence, true { $($row = $asn, $kind $([$($tag)+])? $(, $presence)?;)* }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $table:ident = $name:literal, $spec:literal
     $(, [$($own:tt)+])? {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])? $(, $presence:ident)?;)*
    }) => {
        $crate::components! { $(#[$meta])* $vis $table = $name, $spec, [$($($own)+)?],
            Sequence, false { $($row = $asn, $kind $([$($tag)+])? $(, $presence)?;)* }
        }
    };
}

/// Declares a SET, as [`sequence!`] does a SEQUENCE. It has at most 128 components.
#[macro_export]
macro_rules! set {
    ($(#[$meta:meta])* $vis:vis enum $table:ident = $name:literal, $spec:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])? $(, $presence:ident)?;)* ...
    }) => {
        $crate::components! { $(#[$meta])* $vis $table = $name, $spec, [], Set, true {
            $($row = $asn, $kind $([$($tag)+])? $(, $presence)?;)*
        } }
    };
    ($(#[$meta:meta])* $vis:vis enum $table:ident = $name:literal, $spec:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])? $(, $presence:ident)?;)*
    }) => {
        $crate::components! { $(#[$meta])* $vis $table = $name, $spec, [], Set, false {
            $($row = $asn, $kind $([$($tag)+])? $(, $presence)?;)*
        } }
    };
}

/// Declares a CHOICE, its alternatives as the components of a [`sequence!`].
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $table:ident = $name:literal, $spec:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])?;)+ ...
    }) => {
        $crate::alternatives! { $(#[$meta])* $vis $table = $name, $spec, true {
            $($row = $asn, $kind $([$($tag)+])?;)+
        } }
    };
    ($(#[$meta:meta])* $vis:vis enum $table:ident = $name:literal, $spec:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])?;)+
    }) => {
        $crate::alternatives! { $(#[$meta])* $vis $table = $name, $spec, false {
            $($row = $asn, $kind $([$($tag)+])?;)+
        } }
    };
}

/// Declares an ENUMERATED: numbers and names.
#[macro_export]
macro_rules! enumerated {
    ($(#[$meta:meta])* $vis:vis enum $table:ident: $name:literal, $spec:literal {
        $($(#[$doc:meta])* $row:ident = $number:literal, $asn:literal;)+ ...
    }) => {
        $crate::numbers! { $(#[$meta])* $vis $table: $name, $spec, true {
            $($(#[$doc])* $row = $number, $asn;)+
        } }
    };
    ($(#[$meta:meta])* $vis:vis enum $table:ident: $name:literal, $spec:literal {
        $($(#[$doc:meta])* $row:ident = $number:literal, $asn:literal;)+
    }) => {
        $crate::numbers! { $(#[$meta])* $vis $table: $name, $spec, false {
            $($(#[$doc])* $row = $number, $asn;)+
        } }
    };
}

/// Gives another type a name of its own.
#[macro_export]
macro_rules! named {
    ($($(#[$meta:meta])* $vis:vis $table:ident = $name:literal, $spec:literal, $kind:ty;)+) => {
        $($(#[$meta])*
        #[doc = ""]
        #[doc = concat!("`", $name, "` (", $spec, ").")]
        #[derive(Debug, Clone, Copy)]
        $vis struct $table;

        impl $crate::Described for $table {
            const TYPE: &'static $crate::Type = &$crate::Type {
                name: $name,
                spec: $spec,
                tag: <$kind as $crate::Described>::TYPE.tag,
                shape: <$kind as $crate::Described>::TYPE.shape,
            };
        })+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! components {
    ($(#[$meta:meta])* $vis:vis $table:ident = $name:literal, $spec:literal, [$($own:tt)*],
     $shape:ident, $ext:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])? $(, $presence:ident)?;)*
    }) => {
        $crate::table! { $(#[$meta])* $vis $table = $name, $spec, [$($own)*], $shape, $ext {
            $($row = $asn, $kind $([$($tag)+])? $(, $presence)?;)*
        } }

        impl $table {
            /// How many rows there are.
            pub const COUNT: usize = {
                const NAMES: &[&str] = &[$($asn),*];
                NAMES.len()
            };

            /// Reads the contents of an element, whatever its tag.
            ///
            /// # Errors
            /// The first violation, all the way down.
            $vis fn read(element: $crate::Element<'_>) -> ::core::result::Result<
                $crate::Record<'_, Self, { Self::COUNT }>, $crate::wire::Malformed
            > {
                $crate::Record::read(element)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! alternatives {
    ($(#[$meta:meta])* $vis:vis $table:ident = $name:literal, $spec:literal, $ext:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])?;)+
    }) => {
        $crate::table! { $(#[$meta])* $vis $table = $name, $spec, [], Choice, $ext {
            $($row = $asn, $kind $([$($tag)+])?;)+
        } }

        impl $table {
            /// Which alternative an element is, and its value; none for one to come.
            ///
            /// # Errors
            /// The first violation, all the way down.
            $vis fn read(element: $crate::Element<'_>) -> ::core::result::Result<
                ::core::option::Option<(Self, $crate::Element<'_>)>, $crate::wire::Malformed
            > {
                let found = <Self as $crate::Described>::TYPE.alternative(&element)?;
                Ok(found.and_then(|(index, value)| {
                    Some((<Self as $crate::Rows>::at(index)?, value))
                }))
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! table {
    ($(#[$meta:meta])* $vis:vis $table:ident = $name:literal, $spec:literal, [$($own:tt)*],
     $shape:ident, $ext:literal {
        $($row:ident = $asn:literal, $kind:ty $([$($tag:tt)+])? $(, $presence:ident)?;)*
    }) => {
        $(#[$meta])*
        #[doc = ""]
        #[doc = concat!("`", $name, "` (", $spec, ").")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $table { $(#[doc = $asn] $row),* }

        impl $crate::Described for $table {
            const TYPE: &'static $crate::Type = &$crate::Type {
                name: $name,
                spec: $spec,
                tag: $crate::tag!($($own)*),
                shape: $crate::Shape::$shape {
                    fields: &[$($crate::Field {
                        name: $asn,
                        tag: $crate::tag!($($($tag)+)?),
                        is_explicit: $crate::is_explicit!($($($tag)+)?),
                        kind: <$kind as $crate::Described>::TYPE,
                        presence: $crate::presence!($($presence)?),
                    }),*],
                    is_extensible: $ext,
                },
            };
        }

        impl $crate::Rows for $table {
            #[inline]
            fn index(self) -> usize {
                match self { $(Self::$row => Self::$row as usize),* }
            }

            fn at(index: usize) -> ::core::option::Option<Self> {
                [$(Self::$row),*].get(index).copied()
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! numbers {
    ($(#[$meta:meta])* $vis:vis $table:ident: $name:literal, $spec:literal, $ext:literal {
        $($(#[$doc:meta])* $row:ident = $number:literal, $asn:literal;)+
    }) => {
        $(#[$meta])*
        #[doc = ""]
        #[doc = concat!("`", $name, "` (", $spec, ").")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $table { $($(#[$doc])* #[doc = $asn] $row),+ }

        impl $table {
            /// The number on the wire.
            #[must_use]
            $vis const fn number(self) -> i64 {
                match self { $(Self::$row => $number),+ }
            }

            /// The row of that number.
            #[must_use]
            $vis const fn of(number: i64) -> ::core::option::Option<Self> {
                match number { $($number => Some(Self::$row),)+ _ => None }
            }

            /// The name as the specification writes it.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self { $(Self::$row => $asn),+ }
            }
        }

        impl $crate::Described for $table {
            const TYPE: &'static $crate::Type = &$crate::Type {
                name: $name,
                spec: $spec,
                tag: None,
                shape: $crate::Shape::Enumerated {
                    names: &[$(($number, $asn)),+],
                    is_extensible: $ext,
                },
            };
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! tag {
    () => {
        None
    };
    ($number:literal $($explicit:ident)?) => {
        Some($crate::Tag::context($number))
    };
    (APPLICATION $number:literal $($explicit:ident)?) => {
        Some($crate::Tag::application($number))
    };
    (PRIVATE $number:literal $($explicit:ident)?) => {
        Some($crate::Tag::private($number))
    };
    (UNIVERSAL $number:literal $($explicit:ident)?) => {
        Some($crate::Tag::universal($number))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! is_explicit {
    () => {
        false
    };
    ($number:literal) => {
        false
    };
    ($number:literal explicit) => {
        true
    };
    ($class:ident $number:literal) => {
        false
    };
    ($class:ident $number:literal explicit) => {
        true
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! presence {
    () => {
        $crate::Presence::Required
    };
    (optional) => {
        $crate::Presence::Optional
    };
}
