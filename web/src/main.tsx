import { render } from 'preact';
import { begin } from './live';
import { Shell } from './shell';

begin();
const place = document.getElementById('app')!;
// What the page says where this code does not come.
place.replaceChildren();
render(<Shell />, place);
