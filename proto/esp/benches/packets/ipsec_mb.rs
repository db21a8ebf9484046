//! The ciphers of the same packets by Intel's multi-buffer library (Debian: `libipsec-mb-dev` 1.3),
//! without anything that ESP does: feature `ipsec-mb`.
//!
//! Its structures are written down here as `intel-ipsec-mb.h` of that version has them; with
//! another version nothing is measured.

use super::{ASSOCIATIONS, BATCH, Bench, STRIDE, octets};
use std::ffi::{CStr, c_char, c_void};
use std::hint::black_box;

const VERSION: &str = "1.3.0";

/// `IMB_JOB`; fields that are not used stand in gaps.
#[repr(C)]
struct Job {
    enc_keys: *const c_void,
    dec_keys: *const c_void,
    key_len: u64,
    src: *const u8,
    dst: *mut u8,
    cipher_offset: u64,
    cipher_len: u64,
    hash_offset: u64,
    hash_len: u64,
    iv: *const u8,
    iv_len: u64,
    tag: *mut u8,
    tag_len: u64,
    /// HMAC: the state behind the inner pad; GCM: the AAD.
    inner_or_aad: *const u8,
    /// HMAC: the state behind the outer pad; GCM: octets of the AAD.
    outer_or_aad_len: u64,
    _gap: u64,
    status: u32,
    cipher_mode: u32,
    direction: u32,
    hash: u32,
    order: u32,
    _gap_user: u32,
    _rest: [u64; 6],
}

const _: () = assert!(size_of::<Job>() == 200);

const CBC: u32 = 1;
const GCM: u32 = 5;
const HMAC_SHA1: u32 = 1;
const GMAC: u32 = 9;
const COMPLETED: u32 = 3;

type Take = unsafe extern "C" fn(*mut c_void) -> *mut Job;

#[link(name = "IPSec_MB")]
unsafe extern "C" {
    fn alloc_mb_mgr(flags: u64) -> *mut c_void;
    fn init_mb_mgr_auto(manager: *mut c_void, arch: *mut c_void);
    fn imb_get_version_str() -> *const c_char;
}

/// `IMB_MGR` with those of its functions that are used.
struct Manager {
    manager: *mut c_void,
    next: Take,
    submit: Take,
    completed: Take,
    flush: Take,
}

/// A key, with room for what the library makes of it.
#[repr(C, align(64))]
struct Key {
    encrypt: [u8; 256],
    decrypt: [u8; 256],
    inner: [u8; 64],
    outer: [u8; 64],
    gcm: [u8; 1024],
}

impl Manager {
    fn new() -> Option<Self> {
        // SAFETY: the library's own order of calls; the offsets are those of its version.
        unsafe {
            if CStr::from_ptr(imb_get_version_str()).to_str() != Ok(VERSION) {
                return None;
            }
            let manager = alloc_mb_mgr(0);
            init_mb_mgr_auto(manager, std::ptr::null_mut());
            let at = |offset| manager.byte_add(offset).cast::<Take>().read();
            let (next, submit, completed, flush) = (at(64), at(72), at(88), at(96));
            Some(Self { manager, next, submit, completed, flush })
        }
    }

    fn key(&self, at: usize) -> Box<Key> {
        type Expand = unsafe extern "C" fn(*const u8, *mut u8, *mut u8);
        type Make = unsafe extern "C" fn(*const u8, *mut u8);
        let mut key = Box::new(Key {
            encrypt: [0; 256],
            decrypt: [0; 256],
            inner: [0; 64],
            outer: [0; 64],
            gcm: [0; 1024],
        });
        let octets = octets::<64>(at);
        // SAFETY: as in `new`; each has as much room as the header says.
        unsafe {
            let expand = self.manager.byte_add(112).cast::<Expand>().read();
            let sha1 = self.manager.byte_add(160).cast::<Make>().read();
            let gcm = self.manager.byte_add(448).cast::<Make>().read();
            expand(octets.as_ptr(), key.encrypt.as_mut_ptr(), key.decrypt.as_mut_ptr());
            sha1(octets.as_ptr(), key.inner.as_mut_ptr());
            sha1(octets.as_ptr(), key.outer.as_mut_ptr());
            gcm(octets.as_ptr(), key.gcm.as_mut_ptr());
        }
        key
    }

    /// Protects a packet of each key.
    fn run(&self, gcm: bool, keys: &[Box<Key>], buffer: &mut [u8]) {
        let mut done = 0;
        let mut take = |job: *mut Job| {
            // SAFETY: the library gives a job that is done, or none.
            let status = unsafe { job.as_ref() }.map(|job| job.status);
            assert!(status.is_none_or(|it| it == COMPLETED), "{status:?}");
            done += usize::from(status.is_some());
            status.is_some()
        };
        for (key, packet) in keys.iter().zip(buffer.chunks_mut(STRIDE)) {
            // SAFETY: the packet has room for header, payload and a tag.
            unsafe {
                (self.next)(self.manager).write(job(gcm, key, packet));
                let mut more = take((self.submit)(self.manager));
                while more {
                    more = take((self.completed)(self.manager));
                }
            }
        }
        // SAFETY: nothing is asked of it but what is under way.
        while take(unsafe { (self.flush)(self.manager) }) {}
        assert_eq!(done, keys.len());
    }
}

fn job(gcm: bool, key: &Key, packet: &mut [u8]) -> Job {
    let keys: *const c_void =
        if gcm { key.gcm.as_ptr().cast() } else { key.encrypt.as_ptr().cast() };
    let (header, payload) = if gcm { (16, 484) } else { (24, 496) };
    let start = packet.as_mut_ptr();
    Job {
        enc_keys: keys,
        dec_keys: if gcm { keys } else { key.decrypt.as_ptr().cast() },
        key_len: 16,
        src: start,
        dst: packet[header..].as_mut_ptr(),
        cipher_offset: header as u64,
        cipher_len: payload as u64,
        hash_offset: 0,
        hash_len: (header + payload) as u64,
        iv: key.inner.as_ptr(),
        iv_len: if gcm { 12 } else { 16 },
        tag: packet[header + payload..].as_mut_ptr(),
        tag_len: if gcm { 16 } else { 12 },
        inner_or_aad: if gcm { start } else { key.inner.as_ptr() },
        outer_or_aad_len: if gcm { 8 } else { key.outer.as_ptr() as u64 },
        _gap: 0,
        status: 0,
        cipher_mode: if gcm { GCM } else { CBC },
        direction: 1,
        hash: if gcm { GMAC } else { HMAC_SHA1 },
        order: 1,
        _gap_user: 0,
        _rest: [0; 6],
    }
}

pub fn measure(bench: &mut Bench) {
    for (gcm, name) in [
        (true, "GCM, libipsec-mb's cipher alone"),
        (false, "CBC, SHA1, libipsec-mb's ciphers alone"),
    ] {
        let Some(manager) = Manager::new() else { return };
        let keys: Vec<_> = (0..ASSOCIATIONS).map(|at| manager.key(at)).collect();
        let mut buffer = vec![5; STRIDE * BATCH];
        let mut next = 0;
        bench.line(name, move || {
            let keys = &keys[next..next + BATCH];
            manager.run(gcm, keys, black_box(&mut buffer));
            next = (next + BATCH) % (ASSOCIATIONS - BATCH);
        });
    }
}
