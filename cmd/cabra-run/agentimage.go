package main

import (
	"context"

	"cabra-run/images"
	"cabra-run/runner/agent"
)

// agentImage returns the image that an agent runs in, built now if need be.
func agentImage(ctx context.Context, b *images.Builder, ag agent.Agent) (images.Image, error) {
	i := ag.Traits().Image
	if i.Recipe != "" {
		return b.Ensure(ctx, i.Recipe)
	}
	return b.EnsureRecipe(ctx, ownRecipe(ag))
}

// ownRecipe is the recipe of an agent's own image.
func ownRecipe(ag agent.Agent) images.Custom {
	i := ag.Traits().Image
	c := images.Custom{
		Name: ag.Name(), Existing: i.Existing, Base: i.Base, Apt: i.Apt, Npm: i.Npm, Pip: i.Pip, Run: i.Run,
	}
	for _, cp := range i.Copy {
		c.Copy = append(c.Copy, images.Copy{From: cp.From, To: cp.To})
	}
	return c
}
