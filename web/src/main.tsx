import { render } from 'preact';
import { begin } from './live';
import { Shell } from './shell';

begin();
render(<Shell />, document.getElementById('app')!);
