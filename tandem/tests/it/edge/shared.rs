//! A router's AF_XDP ports and a controller's fence before one interface: forwarder and control are
//! two processes.

use super::{LONG, Scene, TWO_HOSTS, two_hosts};
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

/// Does not start where its fence is refused.
const CONTROLLER: &str = r#"
[[ssc]]
name = "ssc1"
shards = 1
[ssc.shield]
kernel = "require"
kernel_interfaces = ["a"]
source_rate = 10
source_burst = 10
[[ssc.realm]]
name = "access"
side = "access"
listen = ["udp:10.1.0.1:5060"]
[[ssc.realm]]
name = "core"
side = "core"
listen = ["udp:127.0.0.1:5070"]
[[ssc.next_hop]]
name = "far"
realm = "core"
targets = ["udp:127.0.0.1:9"]
probe_interval_s = 0
[[ssc.route]]
from = "access"
to = ["far"]
"#;

/// What the kernel's part of the shield says.
fn kernel(scene: &Scene) -> Value {
    let rows = scene.rows(&["shield"]);
    let row = rows.iter().find(|row| row["shard"] == "kernel");
    row.unwrap_or_else(|| panic!("{rows:?}")).clone()
}

#[test]
fn a_controllers_fence_and_a_forwarders_ports_share_an_interface() {
    let mut scene = Scene::new();
    let (a, _b) = two_hosts(&scene);
    scene.router.ip(&["address", "add", "10.1.0.1/32", "dev", "lo"]).unwrap();
    let host = "name = \"pe1\"\nhost = \"own0\"";
    let router = TWO_HOSTS.replace("name = \"pe1\"", host).replace("af_packet", "af_xdp");
    scene.start(&(router + CONTROLLER));
    a.reaches("10.2.0.2");
    for _ in 0..2 {
        assert_eq!(kernel(&scene)["interfaces"][0], "a: native");
        let flood = "import socket\ns = socket.socket(2, 2)\n\
                     for _ in range(2000): s.sendto(b'x' * 20, ('10.1.0.1', 5060))";
        assert!(a.run(&["python3", "-c", flood]).status.success());
        let until = Instant::now() + LONG;
        while kernel(&scene)["dropped"].as_u64() < Some(1_000) {
            assert!(Instant::now() < until, "{}", kernel(&scene));
            thread::sleep(Duration::from_millis(50));
        }
        a.reaches("10.2.0.2");
        // The forwarder goes on, and has the program; the next control finds it there.
        scene.kill();
        a.reaches("10.2.0.2");
        scene.start_again();
    }
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}
