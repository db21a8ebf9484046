// The console's entry: theme first, then the page.
import { mount } from 'svelte';
import App from './App.svelte';
import { applyTheme, begin, session } from './lib/session.svelte';
import './style.css';

applyTheme(session.theme);
const target = document.getElementById('app');
if (target) mount(App, { target });
void begin();
