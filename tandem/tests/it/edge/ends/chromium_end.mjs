// Chromium as a WebRTC end. Arguments: hertz, file for the samples that came, further words.
// `video`: pictures of its fake camera as well; FILE.pictures has a line for each that came.
// A line in: {"offer": true}, {"answer": SDP} or {"take": SDP}; a line out: {"sdp": SDP}.
import { openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [hertz, file, ...words] = process.argv.slice(2);
const library = pathToFileURL(`${process.env.CONSOLE}/node_modules/playwright-core/index.mjs`);
const { chromium } = await import(library.href);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    '--autoplay-policy=no-user-gesture-required',
  ],
});
const page = await (await browser.newContext()).newPage();
// A camera is for pages of a secure origin alone, which this is.
await page.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
await page.goto('http://localhost/');
page.on('console', (message) => process.stderr.write(`${message.text()}\n`));
page.on('pageerror', (error) => process.stderr.write(`${error}\n`));
const samples = openSync(file, 'w');
await page.exposeFunction('came', (text) => void writeSync(samples, Buffer.from(text, 'base64')));
const pictures = openSync(`${file}.pictures`, 'w');
await page.exposeFunction('seen', (height) => void writeSync(pictures, `${height}\n`));

await page.evaluate(
  async ([hertz, video]) => {
    const end = new RTCPeerConnection();
    const sound = new AudioContext();
    const tone = new OscillatorNode(sound, { frequency: hertz });
    const level = new GainNode(sound, { gain: 0.4 });
    const out = sound.createMediaStreamDestination();
    tone.connect(level).connect(out);
    tone.start();
    end.addTrack(out.stream.getAudioTracks()[0], out.stream);
    if (video) {
      const camera = await navigator.mediaDevices.getUserMedia({ video: true });
      end.addTrack(camera.getVideoTracks()[0], out.stream);
    }
    end.onconnectionstatechange = () => console.log(end.connectionState);
    const ear = new AudioContext({ sampleRate: 8000 });
    // What nobody plays is not decoded.
    const play = (stream) => {
      const player = Object.assign(document.createElement('video'), { srcObject: stream });
      player.muted = true;
      void player.play();
      return player;
    };
    end.ontrack = ({ track }) => {
      const stream = new MediaStream([track]);
      const player = play(stream);
      if (track.kind === 'video') {
        const frame = () => {
          window.seen(player.videoHeight);
          player.requestVideoFrameCallback(frame);
        };
        player.requestVideoFrameCallback(frame);
        return;
      }
      const tap = ear.createScriptProcessor(1024, 1, 1);
      tap.onaudioprocess = ({ inputBuffer }) => {
        const wave = Int16Array.from(inputBuffer.getChannelData(0), (it) => it * 32767);
        window.came(btoa(String.fromCharCode(...new Uint8Array(wave.buffer))));
      };
      ear.createMediaStreamSource(stream).connect(tap).connect(ear.destination);
      window.kept = [tap, player];
    };
    window.described = async (made) => {
      await end.setLocalDescription(made);
      while (end.iceGatheringState !== 'complete') {
        await new Promise((done) => (end.onicegatheringstatechange = done));
      }
      return end.localDescription.sdp;
    };
    window.end = end;
  },
  [Number(hertz), words.includes('video')],
);

for await (const line of createInterface({ input: process.stdin })) {
  const said = JSON.parse(line);
  const sdp = await page.evaluate(async (said) => {
    const { end, described } = window;
    if (said.take) {
      await end.setRemoteDescription({ type: 'answer', sdp: said.take });
      return null;
    }
    if (said.offer) return described(await end.createOffer());
    await end.setRemoteDescription({ type: 'offer', sdp: said.answer });
    return described(await end.createAnswer());
  }, said);
  if (sdp !== null) process.stdout.write(`${JSON.stringify({ sdp })}\n`);
}
await browser.close();
