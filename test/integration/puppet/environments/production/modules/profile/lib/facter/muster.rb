# Facts that the tests look for: where to write, and values that are easily lost on the way (numbers above all).
Facter.add(:muster) do
  setcode do
    {
      'target' => ENV.fetch('MUSTER_TARGET'),
      'broken' => ENV.key?('MUSTER_BROKEN'),
      'whole_float' => 1.0,
      'beyond_double' => 9_007_199_254_740_993,
      'text' => "Grüße, κόσμε \u{1F680}",
      'empty' => { 'list' => [], 'map' => {} },
      'list' => [1, 'two', { 'three' => 3.5 }],
    }
  end
end

# What the package inventory of Puppet Enterprise collects; the terminus sends it beside the facts.
Facter.add(:_puppet_inventory_1) do
  setcode do
    { 'packages' => [['bash', '5.2.15-2+b7', 'apt'], ['openssl', '3.0.15-1', 'apt']] }
  end
end
