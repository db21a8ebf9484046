//! `dlopen` and `dlsym`.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use std::ffi::CString;

/// A library that is loaded, and is never unloaded: its symbols are good for ever.
pub(crate) struct Loaded(NonNull<c_void>);

impl Loaded {
    /// Loads a library of the system.
    ///
    /// # Errors
    /// What the loader says.
    pub(crate) fn open(file: &str) -> Result<Self, String> {
        if cfg!(target_feature = "crt-static") {
            // The loader of a static program needs the very C library that it was linked with.
            return Err("this program is static and loads no libraries".to_owned());
        }
        let name = CString::new(file).map_err(|error| error.to_string())?;
        // SAFETY: the name is a string of C. What a library does when it is loaded is trusted as
        // the package is that it comes from.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(handle).map(Self).ok_or_else(|| {
            // SAFETY: the loader's own string, or none; it is copied before the next call.
            let said = unsafe { libc::dlerror() };
            if said.is_null() {
                return "it cannot be loaded".to_owned();
            }
            // SAFETY: it is not null, and a string of C.
            unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
        })
    }

    /// The address of a function.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is that of a library which is loaded.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// A record of functions, each with the name that it has in the library; `of` finds them all or is
/// `None`.
macro_rules! symbols {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($($library:ident),+) {
            $($from:ident . $field:ident = $symbol:literal: $type:ty;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $name { $($field: $type),+ }

        impl $name {
            pub(crate) fn of($($library: &$crate::library::load::Loaded),+) -> Option<Self> {
                Some(Self {
                    $($field: {
                        let address = $from.symbol($symbol)?;
                        // SAFETY: the function of that name has that type, by the library's
                        // header; an address of a function is as large as any.
                        unsafe {
                            core::mem::transmute::<
                                core::ptr::NonNull<core::ffi::c_void>,
                                $type,
                            >(address)
                        }
                    }),+
                })
            }
        }
    };
}
pub(crate) use symbols;
