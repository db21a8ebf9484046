//! Routing Key Management, the side that is asked (RFC 4666 §4.4).

use super::{MemberState, Process};
use crate::codec::{
    DeregistrationStatus, ErrorCode, Message, MessageType, NetworkAppearance, PointCode,
    RegistrationStatus, RoutingContext, RoutingKey, Tag, TrafficMode,
};
use crate::effects::Indication;
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::parameters::Registration;
use crate::settings::{Destination, Key, Refused, ServerSettings, Side};

type Registered = Result<ServerId, RegistrationStatus>;

impl Process {
    pub(super) fn on_reg_req(&mut self, peer: PeerId, message: &Message<'_>) {
        let mut results = Vec::new();
        for (at, value) in message.all(Tag::RoutingKey) {
            let read = RoutingKey::read(at, value);
            let identifier = RoutingKey::identifier_in(value).unwrap_or_default();
            let registered = match &read {
                Ok(key) => self.register(peer, key),
                Err(violation) if violation.code == ErrorCode::UnexpectedParameter => {
                    Err(RegistrationStatus::UnsupportedField)
                }
                Err(_) => Err(RegistrationStatus::InvalidRoutingKey),
            };
            results.push((identifier, registered));
        }
        let answers: Vec<(u32, RegistrationStatus, u32)> = results
            .iter()
            .map(|(identifier, registered)| match registered {
                Ok(id) => {
                    let context = self.routing_context(peer, *id).map_or(0, |context| context.0);
                    (*identifier, RegistrationStatus::Registered, context)
                }
                Err(status) => (*identifier, *status, 0),
            })
            .collect();
        self.send(peer, MessageType::RegRsp, |mut writer| {
            for (identifier, status, context) in answers {
                writer = writer.group(Tag::RegistrationResult, |inner| {
                    inner
                        .word(Tag::LocalRoutingKeyIdentifier, identifier)
                        .word(Tag::RegistrationStatus, status.number())
                        .word(Tag::RoutingContext, context)
                });
            }
            writer.end();
        });
        for (_, registered) in results {
            self.count(match registered {
                Ok(_) => Metric::Registrations,
                Err(_) => Metric::RegistrationsRefused,
            });
            let status = registered.err().unwrap_or(RegistrationStatus::Registered);
            self.indicate(Indication::Registered(peer, registered.ok(), status.number()));
            // The ASP learns the state of the Application Server it has joined (§4.3.4.5).
            let Ok(id) = registered else { continue };
            let before = self.server_state(id);
            self.settle(id, None);
            if before == self.server_state(id) {
                self.notify_one(id, peer);
            }
        }
    }

    fn register(&mut self, peer: PeerId, asked: &RoutingKey<'_>) -> Registered {
        let may = self.peers.find(peer).is_some_and(|peer| peer.settings.may_register);
        if !may {
            return Err(RegistrationStatus::PermissionDenied);
        }
        let mut key = key_of(asked)?;
        self.fits_point_codes(&key)?;
        key.normalise();
        if !key.fits() {
            return Err(RegistrationStatus::InsufficientResources);
        }
        if asked.network.is_some_and(|network| !self.knows_network(network)) {
            return Err(RegistrationStatus::InvalidNetworkAppearance);
        }
        let mode = asked.mode.map(TrafficMode::of);
        let mode = mode.map(|mode| mode.ok_or(RegistrationStatus::UnsupportedTrafficMode));
        let mode = mode.transpose()?;
        if let Some(id) = self.find_key(&mut key)? {
            return self.register_at(id, peer, asked.routing_context, mode);
        }
        let named = asked
            .routing_context
            .and_then(|context| self.peers.find(peer)?.contexts.get(&(false, context)).copied());
        if let Some(id) = named {
            return self.change_key(id, peer, key);
        }
        self.register_new(peer, key, asked.routing_context, mode)
    }

    fn fits_point_codes(&self, key: &Key) -> Result<(), RegistrationStatus> {
        let bits = self.settings.parameters.point_code_bits;
        let fits = |it: &PointCode| it.number() >> bits == 0;
        if !key.destinations.iter().all(|it| fits(&it.dpc)) {
            return Err(RegistrationStatus::InvalidDpc);
        }
        match key.destinations.iter().flat_map(|it| &it.originating).all(fits) {
            true => Ok(()),
            false => Err(RegistrationStatus::InvalidRoutingKey),
        }
    }

    /// The Application Server of a key. One without a Network Appearance is for any (§3.6.1): that
    /// in which it is found, else the only one there is.
    fn find_key(&self, key: &mut Key) -> Result<Option<ServerId>, RegistrationStatus> {
        if let Some(id) = self.servers.of_key(key) {
            return Ok(Some(id));
        }
        let networks = self.networks();
        if key.network.is_some() || networks.is_empty() {
            return Ok(None);
        }
        for network in &networks {
            let found = Key { network: *network, ..key.clone() };
            if let Some(id) = self.servers.of_key(&found) {
                *key = found;
                return Ok(Some(id));
            }
        }
        match networks[..] {
            [network] => {
                key.network = network;
                Ok(None)
            }
            _ => Err(RegistrationStatus::CannotSupportUniqueRouting),
        }
    }

    /// The networks that are configured: of Application Servers, and of what is told of SS7.
    fn networks(&self) -> Vec<Option<NetworkAppearance>> {
        let fixed = self.servers.iter().filter(|(_, it)| it.registrant.is_none());
        let mut networks: Vec<_> = fixed.map(|(_, it)| it.settings.key.network).collect();
        networks.extend(self.ss7.keys());
        networks.sort_unstable();
        networks.dedup();
        networks
    }

    /// Any network will do as long as none is configured.
    fn knows_network(&self, network: NetworkAppearance) -> bool {
        let fixed = || {
            let servers = self.servers.iter().map(|(_, server)| server);
            servers.filter(|it| it.settings.side == Side::There && it.registrant.is_none())
        };
        fixed().next().is_none() || fixed().any(|it| it.settings.key.network == Some(network))
    }

    fn register_at(
        &mut self,
        id: ServerId,
        peer: PeerId,
        wanted: Option<RoutingContext>,
        mode: Option<TrafficMode>,
    ) -> Registered {
        let Some(server) = self.servers.find_mut(id) else {
            return Err(RegistrationStatus::Unknown);
        };
        let context = server.settings.routing_context;
        if wanted.is_some() && wanted != context {
            return Err(RegistrationStatus::ChangeRefused);
        }
        if mode.is_some() && server.mode.is_some() && mode != server.mode {
            return Err(RegistrationStatus::UnsupportedTrafficMode);
        }
        match server.member_mut(peer) {
            Some(member) if member.is_registered => {
                return Err(RegistrationStatus::AlreadyRegistered);
            }
            Some(_) => return Ok(id),
            None => {}
        }
        if context.is_none() {
            return Err(RegistrationStatus::Unknown);
        }
        self.join(id, peer, context).map_err(refusal)?;
        if let Some(server) = self.servers.find_mut(id) {
            server.mode = server.mode.or(mode);
        }
        if let Some(member) = self.member_mut(id, peer) {
            member.is_registered = true;
        }
        Ok(id)
    }

    /// The key of a context that was registered can change as long as nobody else has it.
    fn change_key(&mut self, id: ServerId, peer: PeerId, key: Key) -> Registered {
        let refused = Err(RegistrationStatus::ChangeRefused);
        let Some(server) = self.servers.find(id) else { return refused };
        let is_its_own =
            server.registrant.is_some() && server.members.iter().all(|it| it.peer == peer);
        if !is_its_own || self.servers.overlapping(&key, Side::There, Some(id)).is_some() {
            return refused;
        }
        self.servers.change_key(id, key);
        Ok(id)
    }

    fn register_new(
        &mut self,
        peer: PeerId,
        key: Key,
        wanted: Option<RoutingContext>,
        mode: Option<TrafficMode>,
    ) -> Registered {
        if self.settings.parameters.registration != Registration::Open {
            return Err(RegistrationStatus::NotProvisioned);
        }
        if wanted.is_some_and(|context| self.servers.is_taken(context)) {
            return Err(RegistrationStatus::ChangeRefused);
        }
        let context = wanted.unwrap_or_else(|| self.servers.free_name());
        let mut settings = ServerSettings::new(Side::There, Some(context), key);
        settings.mode = mode;
        let id = self.insert_server(settings, Some(peer)).map_err(refusal)?;
        if let Err(refused) = self.join(id, peer, Some(context)) {
            self.drop_server(id);
            return Err(refusal(refused));
        }
        if let Some(member) = self.member_mut(id, peer) {
            member.is_registered = true;
        }
        Ok(id)
    }

    pub(super) fn on_dereg_req(&mut self, peer: PeerId, message: &Message<'_>) {
        let contexts: Vec<RoutingContext> = message.routing_contexts().collect();
        let mut results = Vec::new();
        for context in contexts {
            let found = self.peers.find(peer).map(|peer| &peer.contexts);
            let id = found.and_then(|contexts| contexts.get(&(false, context))).copied();
            let status = self.may_deregister(id, peer, context);
            results.push((context, status, id));
        }
        self.send(peer, MessageType::DeregRsp, |mut writer| {
            for (context, status, _) in &results {
                writer = writer.group(Tag::DeregistrationResult, |inner| {
                    inner
                        .word(Tag::RoutingContext, context.0)
                        .word(Tag::DeregistrationStatus, status.number())
                });
            }
            writer.end();
        });
        for (_, status, id) in results {
            self.indicate(Indication::Deregistered(peer, id, status.number()));
            let gone = id.filter(|_| status == DeregistrationStatus::Deregistered);
            if let Some(id) = gone {
                self.end_registration(id, peer);
            }
        }
    }

    fn may_deregister(
        &self,
        id: Option<ServerId>,
        peer: PeerId,
        context: RoutingContext,
    ) -> DeregistrationStatus {
        let member = id.and_then(|id| self.servers.find(id)?.member(peer));
        match member {
            Some(member) if !member.is_registered => DeregistrationStatus::PermissionDenied,
            Some(member) if member.state == MemberState::Active => {
                DeregistrationStatus::CurrentlyActive
            }
            Some(_) => DeregistrationStatus::Deregistered,
            None if self.servers.is_taken(context) => DeregistrationStatus::NotRegistered,
            None => DeregistrationStatus::InvalidRoutingContext,
        }
    }

    /// What an ASP had registered goes with it (RFC 4666 §4.4.2).
    pub(super) fn end_registration(&mut self, id: ServerId, peer: PeerId) {
        let member = self.servers.find(id).and_then(|server| server.member(peer));
        if member.is_some_and(|member| member.is_registered) {
            self.leave(id, peer);
        }
    }
}

const fn refusal(refused: Refused) -> RegistrationStatus {
    match refused {
        Refused::Overlap => RegistrationStatus::CannotSupportUniqueRouting,
        Refused::Full | Refused::Key => RegistrationStatus::InsufficientResources,
        Refused::Side => RegistrationStatus::PermissionDenied,
        Refused::Unknown | Refused::RoutingContext | Refused::Exists => RegistrationStatus::Unknown,
    }
}

fn key_of(asked: &RoutingKey<'_>) -> Result<Key, RegistrationStatus> {
    let mut destinations = Vec::new();
    for group in asked.groups() {
        // The mask of a Destination Point Code is zero (§3.6.1).
        let dpc = PointCode::new(group.destination).ok_or(RegistrationStatus::InvalidDpc)?;
        destinations.push(Destination {
            dpc,
            service_indicators: group.service_indicators.to_vec(),
            originating: group.originating().collect(),
        });
    }
    Ok(Key { network: asked.network, destinations })
}
